// What both kinds of preemption share. Only for preemption*.cpp.
#pragma once

#include <vector>

#include "scheduler/preemption/preemption.h"

namespace muster {

std::vector<Victim> classic_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared);
std::vector<Victim> fair_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared);

// Whether a policy lets the preemptor evict this Workload, and that would help it, and it is not protected.
bool may_evict(const SchedulerState& state, const PreemptionRequest& request, PreemptionPolicy policy,
               const WorkloadState& candidate, Spared& spared);
// The order of candidates: those that are evicted already, other ClusterQueues, lower
// priority, later reservation.
bool evicted_before(const PreemptionRequest& request, const WorkloadState& a, const WorkloadState& b);
bool fits_now(const SchedulerState& state, const PreemptionRequest& request, bool allow_borrowing);
// Gives back what is not needed: `victims` are taken away, the last one made it fit.
void put_back(SchedulerState& state, const PreemptionRequest& request, bool allow_borrowing,
              std::vector<Victim>& victims);

}  // namespace muster
