#include "reconcilers/workload/job_workload_status.h"

#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"
#include "reconcilers/workload/execution_time.h"

namespace muster::reconcilers {
namespace {

Condition condition(const Workload& workload, std::string_view type, bool is_true, std::string_view reason,
                    std::string_view message, Timestamp now) {
  return {.type = type,
          .status = is_true ? "True" : "False",
          .reason = reason,
          .message = message,
          .last_transition = now,
          .observed_generation = workload.meta.generation};
}

}  // namespace

WorkloadStatus finished_status(const Workload& workload, std::string_view reason, std::string_view message,
                               Timestamp now) {
  WorkloadStatus status = workload.status;
  set_condition(status.conditions, condition(workload, kFinishedCondition, true, reason, message, now));
  return status;
}

Condition pods_ready_condition(const Workload& workload, const jobs::QueuedJob& job, Timestamp now) {
  return pods_ready_condition(workload, job.pods_ready(), now, job.stages());
}

Condition pods_ready_condition(const Workload& workload, bool pods_ready, Timestamp now, const jobs::Stages& stages) {
  const Condition* present = find_condition(workload.status.conditions, kPodsReadyCondition);
  const std::string_view before = present == nullptr ? kWaitForStartReason : std::string_view(present->reason);
  if (!workload.admitted() || (!pods_ready && before == kWaitForStartReason)) {
    return condition(workload, kPodsReadyCondition, false, kWaitForStartReason, std::string(kNotAllPodsReady), now);
  }
  if (!pods_ready && (before == kWaitForNextPartReason || (before == kStartedInPartReason && stages.next_starts))) {
    return condition(workload, kPodsReadyCondition, false, kWaitForNextPartReason,
                     "Not all pods of the part that starts now are ready or succeeded", now);
  }
  if (!pods_ready) {
    return condition(workload, kPodsReadyCondition, false, kWaitForRecoveryReason,
                     "At least one pod has failed, waiting for recovery", now);
  }
  if (stages.more_wait) {
    return condition(workload, kPodsReadyCondition, true, kStartedInPartReason,
                     "All pods that may start are ready or succeeded, the others start after them", now);
  }
  const bool recovered = before == kWaitForRecoveryReason || before == kRecoveredReason;
  return condition(workload, kPodsReadyCondition, true, recovered ? kRecoveredReason : kStartedReason,
                   "All pods reached readiness and the workload is running", now);
}

WorkloadStatus status_with_pods(const Workload& workload, Condition pods_ready) {
  WorkloadStatus status = workload.status;
  if (pods_ready.is_true()) status.flavors = {};
  set_condition(status.conditions, std::move(pods_ready));
  return status;
}

WorkloadStatus released_status(const Workload& workload, const Condition& evicted, Duration admitted_for,
                               Timestamp now) {
  WorkloadStatus status = workload.status;
  // After the last flavor of a round the next round has a time to begin.
  const bool falls_back =
      evicted.reason == kFlavorFallbackReason && (!status.requeue_state || status.requeue_state->requeue_at.is_zero());
  const bool at_once = evicted.reason == kPreemptedReason || evicted.reason == kNodeFailuresReason ||
                       evicted.reason == kQueueChangedReason || falls_back;
  set_condition(status.conditions,
                condition(workload, kRequeuedCondition, at_once, evicted.reason, evicted.message, now));
  set_condition(status.conditions,
                condition(workload, kQuotaReservedCondition, false, kPendingEvaluationReason, evicted.message, now));
  if (workload.admitted()) {
    end_execution(status, admitted_for);
    set_condition(status.conditions, condition(workload, kAdmittedCondition, false, kNoReservationReason,
                                               "The workload has no reservation", now));
  }
  status.admission.reset();
  return status;
}

}  // namespace muster::reconcilers
