// Time that also passes while the machine is suspended. What other machines count on during that time (a Lease) must be
// counted by it.
#pragma once

#include "base/clock.h"

namespace muster {

// `monotonic` is CLOCK_BOOTTIME: not to be mixed with that of system_clock().
const Clock& boot_clock();

}  // namespace muster
