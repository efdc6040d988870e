// The decisions that a change of a Workload carries, for the log: reconcilers attach them to their writes,
// and they are logged once the write has succeeded. Pure.
#pragma once

#include <vector>

#include "api/logged_decision.h"
#include "api/workload.h"

namespace muster::state {

// What becomes true when the Workload's status becomes `after`: quota reserved, admitted, preempted or
// evicted, requeued.
std::vector<LoggedDecision> decisions_of(const Workload& workload, const WorkloadStatus& after);
// spec.active becomes false.
LoggedDecision deactivation_of(const Workload& workload);

}  // namespace muster::state
