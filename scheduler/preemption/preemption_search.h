// Shared code of both kinds of preemption. Only for preemption*.cpp.
#pragma once

#include <vector>

#include "scheduler/preemption/preemption.h"

namespace muster::scheduler {

std::vector<Victim> classic_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared);
std::vector<Victim> fair_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared);

// Whether a policy allows the eviction of this Workload, the eviction helps, and the Workload is not protected.
bool may_evict(const SchedulerState& state, const PreemptionRequest& request, PreemptionPolicy policy,
               const WorkloadState& candidate, Spared& spared);
// The order of candidates: already evicted ones, other ClusterQueues, lower priority, later
// reservation.
bool evicted_before(const PreemptionRequest& request, const WorkloadState& a, const WorkloadState& b);
bool fits_now(const SchedulerState& state, const PreemptionRequest& request, bool allow_borrowing);
// Restores unneeded victims: `victims` are removed, and the preemptor fits since the last one.
void put_back(SchedulerState& state, const PreemptionRequest& request, bool allow_borrowing,
              std::vector<Victim>& victims);

}  // namespace muster::scheduler
