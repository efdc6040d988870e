#include "explain/lists/workload_state.h"

#include <cctype>
#include <chrono>

#include "api/meta/constants.h"
#include "api/pods/pod_reason.h"
#include "api/texts/workload_texts.h"
#include "api/workload.h"
#include "api/workload_conditions.h"

namespace muster::explain {
namespace {

using Place = ListedWorkload::Place;

constexpr std::string_view kBackoffReason = "Backoff";

const Condition* condition(const Workload& workload, std::string_view type) {
  return find_condition(workload.status.conditions, type);
}

Timestamp transition(const Workload& workload, std::string_view type) {
  const Condition* found = condition(workload, type);
  return found == nullptr ? Timestamp{} : found->last_transition;
}

bool backs_off(const QueueSnapshot& snapshot, const Workload& workload) {
  const auto& state = workload.status.requeue_state;
  if (state && state->requeue_at > snapshot.at()) return true;
  const Condition* requeued = condition(workload, kRequeuedCondition);
  return requeued != nullptr && requeued->status == "False" &&
         (requeued->reason == kPodsReadyTimeoutReason || requeued->reason == kAdmissionCheckReason);
}

std::string queue_reason(const scheduler::ListedClusterQueue& queue) {
  if (queue.inactive_reason.empty() || queue.inactive_reason == kStateNotVisibleReason) return "";
  return queue.inactive_reason == kStoppedReason ? std::string(kClusterQueueStoppedReason) : "ClusterQueueInactive";
}

std::string written_reason(const Workload& workload) {
  const Condition* reserved = condition(workload, kQuotaReservedCondition);
  if (reserved == nullptr || reserved->is_true() || reserved->reason.empty())
    return std::string(kPendingEvaluationReason);
  return reserved->reason;
}

std::string reason_of_pending(const QueueSnapshot& snapshot, const ListedWorkload& listed) {
  if (std::string stopped = queue_reason(snapshot.cluster_queues()[listed.queue]); !stopped.empty()) return stopped;
  if (backs_off(snapshot, *listed.object)) return std::string(kBackoffReason);
  return written_reason(*listed.object);
}

std::string reason_of_holder(const ListedWorkload& listed) {
  if (listed.assumed) return "BeingAdmitted";
  const Workload& workload = *listed.object;
  if (workload.evicted()) return condition(workload, kEvictedCondition)->reason;
  if (!workload.admitted()) return std::string(kUnsatisfiedChecksReason);
  const Condition* ready = condition(workload, kPodsReadyCondition);
  return ready != nullptr && !ready->is_true() ? "PodsNotReady" : "Running";
}

// It has quota by its conditions, which are enough where its ClusterQueue is not visible.
bool is_holding(const ListedWorkload& listed) {
  return listed.place == Place::kHolding || (listed.place == Place::kElsewhere && listed.object->has_quota_reserved());
}

std::string finish_reason(const Workload& workload) {
  const Condition* finished = condition(workload, kFinishedCondition);
  return finished == nullptr ? "" : finished->reason.text();
}

// In no ClusterQueue: the first link that is missing.
std::string reason_elsewhere(const QueueSnapshot& snapshot, const Workload& workload) {
  if (!workload.active) return std::string(kDeactivatedReason);
  const ListedLocalQueue* local = snapshot.find_local_queue(workload.meta.ns, workload.queue_name);
  if (local == nullptr) return snapshot.hides(kLocalQueues) ? written_reason(workload) : "LocalQueueMissing";
  if (local->object->stop_policy != StopPolicy::kNone) return std::string(kLocalQueueStoppedReason);
  const auto cluster = snapshot.find_cluster_queue(local->object->cluster_queue);
  if (!cluster) return snapshot.hides(kClusterQueues) ? written_reason(workload) : "ClusterQueueMissing";
  if (std::string stopped = queue_reason(snapshot.cluster_queues()[*cluster]); !stopped.empty()) return stopped;
  // A Workload with an admission gate is in no queue.
  if (!workload.meta.annotation(kAdmissionGatedByAnnotation).empty()) return std::string(kAdmissionGatedReason);
  return written_reason(workload);
}

}  // namespace

std::string state_of(const ListedWorkload& listed) {
  const Workload& workload = *listed.object;
  if (listed.place == Place::kFinished) {
    const std::string reason = finish_reason(workload);
    return reason == kFailedReason || reason == kFailedToStartReason ? "Failed" : "Finished";
  }
  if (!workload.active && !is_holding(listed)) return "Inactive";
  if (!is_holding(listed)) return "Pending";
  if (listed.assumed) return std::string(kQuotaReservedReason);
  if (workload.evicted()) return "Evicted";
  return std::string(workload.admitted() ? kAdmittedReason : kQuotaReservedReason);
}

std::string reason_of(const QueueSnapshot& snapshot, const ListedWorkload& listed) {
  switch (listed.place) {
    case Place::kPending:
      return reason_of_pending(snapshot, listed);
    case Place::kHolding:
      return reason_of_holder(listed);
    case Place::kElsewhere:
      return is_holding(listed) ? reason_of_holder(listed) : reason_elsewhere(snapshot, *listed.object);
    case Place::kFinished:
      return finish_reason(*listed.object);
  }
  return "";
}

std::string pod_reason_of(const QueueSnapshot& snapshot, const ListedWorkload& listed) {
  const Workload& workload = *listed.object;
  if (listed.place == Place::kFinished || !workload.evicted()) return "";
  const Condition& evicted = *condition(workload, kEvictedCondition);
  const auto cause = deactivation_cause(evicted.reason);
  const bool was_late = evicted.reason == kPodsReadyTimeoutReason || evicted.reason == kFlavorFallbackReason;
  const bool was_last = cause == kRequeuingLimitExceededReason || cause == kFlavorsExhaustedReason;
  if (!was_late && !was_last) return "";
  bool shown = was_last;
  if (is_holding(listed))
    shown = !listed.assumed;
  else if (workload.active)
    shown = reason_of(snapshot, listed) == kBackoffReason;
  return shown ? shown_token(evicted.message.text()) : "";
}

std::string in_words(std::string_view reason) {
  struct Words {
    std::string_view token, words;
  };
  static constexpr Words kWords[] = {
      {kWaitingForQuotaReason, "waiting for quota"},
      {kExceedsMaxQuotaReason, "exceeds max quota"},
      {kNoMatchingFlavorReason, "no matching flavor"},
      {kWaitingForPreemptedWorkloadsReason, "waiting for victims"},
      {kWaitingForPodsReadyReason, "admission is blocked"},
      {kPendingEvaluationReason, "not evaluated yet"},
      {kAdmissionGatedReason, "admission gate set"},
      {kMisconfiguredReason, "invalid request"},
      {kSuspendedReason, "queue is stopped"},
      {kUnsatisfiedChecksReason, "waiting for checks"},
      {kClusterQueueStoppedReason, "ClusterQueue is stopped"},
      {kLocalQueueStoppedReason, "LocalQueue is stopped"},
      {"ClusterQueueInactive", "ClusterQueue is inactive"},
      {"ClusterQueueMissing", "ClusterQueue is missing"},
      {kClusterQueueNotVisibleReason, "ClusterQueue not visible"},
      {kStateNotVisibleReason, "state not visible"},
      {"LocalQueueMissing", "LocalQueue is missing"},
      {"PodsNotReady", "pods not ready"},
      {kPodsReadyTimeoutReason, "pods not ready"},
      {kAdmissionCheckReason, "admission check failed"},
      {"BeingAdmitted", "being admitted"},
      {kBackoffReason, "waits for retry"},
      {"Running", "running"},
  };
  for (const Words& known : kWords) {
    if (known.token == reason) return std::string(known.words);
  }
  // "DeactivatedDueToRequeuingLimitExceeded": its first three words.
  std::string words;
  int count = 0;
  for (const char letter : reason) {
    if (std::isupper(static_cast<unsigned char>(letter)) && ++count > 1) {
      if (count > 3) break;
      words += ' ';
    }
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return words;
}

Timestamp in_state_since(const ListedWorkload& listed) {
  const Workload& workload = *listed.object;
  if (listed.place == Place::kFinished) return finished_at(workload);
  if (workload.evicted()) return transition(workload, kEvictedCondition);
  if (!is_holding(listed) || listed.assumed) return workload.meta.created;
  return transition(workload, workload.admitted() ? kAdmittedCondition : kQuotaReservedCondition);
}

Timestamp finished_at(const Workload& workload) {
  return workload.finished() ? transition(workload, kFinishedCondition) : Timestamp{};
}

Timestamp holds_until(const Workload& workload) {
  const auto left_at_admission = execution_time_left(workload, Duration::zero());
  if (!left_at_admission || !workload.admitted()) return {};
  Timestamp until = transition(workload, kAdmittedCondition);
  if (until.is_zero()) return {};
  until.seconds += std::chrono::duration_cast<std::chrono::seconds>(*left_at_admission).count();
  return until;
}

}  // namespace muster::explain
