// Indexes of Workloads that answers need.
#pragma once

#include "state/index/index.h"

namespace muster::explain {

// By {"", uid}.
extern const state::Index<Workload> kWorkloadsByUid;
// Those that were preempted for a Workload and still hold quota, by {"", uid of that Workload}.
extern const state::Index<Workload> kVictimsByPreemptor;

}  // namespace muster::explain
