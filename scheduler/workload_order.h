// The timestamp that orders Workloads of the same priority.
#pragma once

#include "api/config/queue_settings.h"
#include "api/workload.h"

namespace muster::scheduler {

// The time of its eviction because its pods were not ready (unless `timestamp` selects its
// creation) or because of an admission check with Retry; otherwise its creation time. Without
// Kueue's gate PrioritySortingWithinCohort also just after the moment at which a borrower took its
// quota back.
Timestamp order_timestamp(const Workload& workload, RequeuingStrategy::Timestamp timestamp,
                          bool priority_sorting_within_cohort = true);

}  // namespace muster::scheduler
