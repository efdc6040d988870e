// What decides a Workload's place among those of the same priority.
#pragma once

#include "api/config/queue_settings.h"
#include "api/workload.h"

namespace muster {

// When it was evicted because its pods did not get ready (unless `timestamp` says that
// its creation counts) or because an admission check wants it to come again; otherwise
// when it was created. Without Kueue's gate PrioritySortingWithinCohort also just after
// the moment at which a borrower took its quota back.
Timestamp order_timestamp(const Workload& workload, RequeuingStrategy::Timestamp timestamp,
                          bool priority_sorting_within_cohort = true);

}  // namespace muster
