#include "reconcilers/workload/pods_ready.h"

#include "api/workload_conditions.h"

namespace muster::reconcilers {

PodsReady pods_ready_after(const Workload& workload, const jobs::QueuedJob& job) {
  return pods_ready_after(workload, job.pods_ready(), job.stages());
}

PodsReady pods_ready_after(const Workload& workload, bool pods_ready, const jobs::Stages& stages) {
  const Condition* present = find_condition(workload.status.conditions, kPodsReadyCondition);
  const std::string_view before = present == nullptr ? kWaitForStartReason : std::string_view(present->reason);
  if (!workload.admitted() || (!pods_ready && before == kWaitForStartReason))
    return {false, kWaitForStartReason, kNotAllPodsReady};
  if (!pods_ready && (before == kWaitForNextPartReason || (before == kStartedInPartReason && stages.next_starts)))
    return {false, kWaitForNextPartReason, "Not all pods of the part that starts now are ready or succeeded"};
  if (!pods_ready) return {false, kWaitForRecoveryReason, "At least one pod has failed, waiting for recovery"};
  if (stages.more_wait)
    return {true, kStartedInPartReason, "All pods that may start are ready or succeeded, the others start after them"};
  const bool recovered = before == kWaitForRecoveryReason || before == kRecoveredReason;
  return {true, recovered ? kRecoveredReason : kStartedReason,
          "All pods reached readiness and the workload is running"};
}

}  // namespace muster::reconcilers
