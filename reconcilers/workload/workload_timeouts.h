// What an admitted Workload has time for: to get its pods ready, and to get them ready again
// after one has failed (to run at all: reconcilers/workload/execution_time.h). Source: Kueue KEP-349 and
// KEP-1282.
#pragma once

#include "api/config/queue_settings.h"
#include "reconcilers/workload/workload_editor.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// Why the pods of an admitted Workload are waited for, and until when.
struct PodsReadyWait {
  std::string_view cause;  // WaitForStart or WaitForRecovery
  TimePoint end;
};
// By a Workload's conditions; nullopt: they are ready, or there is no end.
std::optional<PodsReadyWait> pods_ready_wait(const Conditions& conditions, const WaitForPodsReady& settings);

// Evicts the Workload whose pods were not ready in time, or deactivates it when it has
// had all its tries. Otherwise the plan wakes when that time comes. The message says what of its job is not ready.
void enforce_pods_ready_timeouts(WorkloadEditor& editor, const std::optional<WaitForPodsReady>& settings,
                                 const state::ClusterState& state, Plan& plan);

// Evicts the Workload of a gang that did not come together in time: as if its pods had
// not got ready in time, with the same backoff and limit.
void evict_late_gang(WorkloadEditor& editor, const RequeuingStrategy& strategy, const std::string& message);

}  // namespace muster::reconcilers
