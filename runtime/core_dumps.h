#pragma once

namespace muster::runtime {

// Keys and tokens are in this process's memory: from here on no crash writes it to a disk, and no
// other process of the same user can read it. Programs that it starts make no core dumps either.
void refuse_core_dumps();

}  // namespace muster::runtime
