// Quota that a Workload holds, from both ends: its ClusterQueue's list and the ledger.
#pragma once

#include "scheduler/state.h"

namespace muster {

// What an admission uses, scaled down for pods that gave their quota back (reclaimablePods).
void read_admission_usage(QuotaNames& names, const Workload& workload, const Admission& admission, Amounts& usage,
                          std::vector<QuotaId>& used);
// Pods of one pod set that still count.
int32_t count_after_reclaim(const Workload& workload, const PodSet& pod_set);

// The Workload's usage must be set. Also works for a ClusterQueue that has no object (yet).
void reserve(SchedulerState& state, WorkloadState& workload, QueueState& queue);
void release(SchedulerState& state, WorkloadState& workload);

}  // namespace muster
