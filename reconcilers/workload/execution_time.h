// spec.maximumExecutionTimeSeconds: the maximum admitted time of a Workload, summed over all admissions.
// Earlier times are in status.accumulatedPastExecutionTimeSeconds; the current time is
// SchedulerDriver::admitted_for(), so that a change of the wall clock has no effect. Source: Kueue KEP-3125
// (field and words).
#pragma once

#include "reconcilers/workload/workload_editor.h"

namespace muster::reconcilers {

// Deactivates the Workload whose time is over. Otherwise the plan wakes when it will be.
void enforce_execution_time(WorkloadEditor& editor, Plan& plan);

}  // namespace muster::reconcilers
