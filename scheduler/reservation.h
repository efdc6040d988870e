// Quota that a Workload holds, in both places: its ClusterQueue's list and the ledger.
#pragma once

#include <functional>
#include <string>

#include "scheduler/state.h"

namespace muster::scheduler {

// Every flavor and resource that an admission names, with the used amount, also zero:
// if it `reclaims`, scaled down for pods that have released their quota
// (reclaimablePods).
void for_each_use(const Workload& workload, const Admission& admission, bool reclaims,
                  const std::function<void(const std::string& flavor, const std::string& resource, int64_t)>& visit);
// The same summed up by quota, and all quotas that it names.
void read_admission_usage(QuotaIdTable& names, const Workload& workload, const Admission& admission, bool reclaims,
                          Amounts& usage, std::vector<QuotaId>& used);
// Pods of one pod set that still count.
int32_t count_after_reclaim(const Workload& workload, const PodSet& pod_set, bool reclaims);

// Also works for a ClusterQueue that has no object (yet). A pending Workload must have left its PendingQueue.
void reserve(SchedulerState& state, WorkloadState& workload, QueueState& queue, WorkloadState::Holding holding);
// It holds nothing and is in no queue then. Returns what it held.
WorkloadState::Holding release(SchedulerState& state, WorkloadState& workload);

}  // namespace muster::scheduler
