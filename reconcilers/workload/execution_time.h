// spec.maximumExecutionTimeSeconds: the maximum admitted time of a Workload, summed over all admissions.
// Earlier times are in status.accumulatedPastExecutionTimeSeconds; the current time is
// SchedulerDriver::admitted_for(), so that a change of the wall clock has no effect. Source: Kueue KEP-3125
// (field and words).
#pragma once

#include "reconcilers/workload/workload_draft.h"

namespace muster::reconcilers {

// An admission of this length has ended: its time is added, except when all time is used up: then a reactivation starts
// at zero.
void end_execution(WorkloadStatus& status, Duration admitted_for);

// Deactivates the Workload whose time is over. Otherwise the plan wakes when it will be.
void obey_execution_time(WorkloadDraft& draft, Plan& plan);

}  // namespace muster::reconcilers
