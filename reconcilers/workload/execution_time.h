// spec.maximumExecutionTimeSeconds: how long a Workload may be admitted, all times together.
// Earlier times stand in status.accumulatedPastExecutionTimeSeconds; the present one is told by
// SchedulerDriver::admitted_for(), so that a wall clock that is set neither adds nor takes away.
// Source: Kueue KEP-3125 (field and words).
#pragma once

#include "reconcilers/workload/workload_draft.h"

namespace muster {

// An admission of this length is over: it is added up, but for who used up all its time, who
// begins anew when a person activates it again.
void end_execution(WorkloadStatus& status, Duration admitted_for);

// Deactivates the Workload whose time is over. Otherwise the plan wakes when it will be.
void obey_execution_time(WorkloadDraft& draft, Plan& plan);

}  // namespace muster
