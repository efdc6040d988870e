#include "reconcilers/workload/workload_queues.h"

#include <array>

#include "api/cluster_queue.h"
#include "api/meta/constants.h"
#include "api/texts/workload_texts.h"
#include "kinds/on_hold.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {
namespace {

constexpr std::string_view kIsPending = "Workload is pending evaluation in the scheduling queue";

struct Blocker {
  std::string_view reason;  // empty: no reason blocks it
  std::string message;
};

Blocker blocker_of(const Workload& workload, const state::QueuesOf& queues) {
  if (!workload.active) return {kDeactivatedReason, "The workload is deactivated"};
  // Its owner decides when it requests quota again.
  if (is_on_hold(workload))
    return {kOnHoldReason, find_condition(workload.status.conditions, kQuotaReservedCondition)->message};
  if (queues.local == nullptr)
    return {kMisconfiguredReason, queue_message(QueueKind::kLocalQueue, workload.queue_name, QueueTrouble::kMissing)};
  if (queues.local->stop_policy != StopPolicy::kNone)
    return {kSuspendedReason, queue_message(QueueKind::kLocalQueue, workload.queue_name, QueueTrouble::kInactive)};
  if (queues.cluster == nullptr)
    return {kMisconfiguredReason, queue_message(QueueKind::kClusterQueue, queues.cluster_name, QueueTrouble::kMissing)};
  if (is_inactive(*queues.cluster))
    return {kSuspendedReason, queue_message(QueueKind::kClusterQueue, queues.cluster_name, QueueTrouble::kInactive)};
  if (const std::string_view gates = workload.meta.annotation(kAdmissionGatedByAnnotation); !gates.empty())
    return {kAdmissionGatedReason, "Admission is gated by: " + std::string(gates)};
  return {};
}

// Set by blocker_of() at some time, and not by the scheduler, which uses some of the reasons for its own
// problems.
bool is_queue_block_reason(const Condition& condition) {
  if (condition.reason == kDeactivatedReason || condition.reason == kAdmissionGatedReason) return true;
  return (condition.reason == kMisconfiguredReason || condition.reason == kSuspendedReason) &&
         is_queue_message(condition.message);
}

bool waits_for_restart(const WorkloadEditor& editor, std::string_view by) {
  const Condition* requeued = editor.find(kRequeuedCondition);
  return requeued != nullptr && !requeued->is_true() && requeued->reason == by;
}

// One queue of a Workload that has a reservation.
struct Holder {
  QueueKind kind;
  std::string name;
  bool there;
  StopPolicy policy;
  std::string_view stopped_reason;
};

Step enforce_stop_policy(WorkloadEditor& editor, const Holder& queue) {
  if (editor.is_true(kAdmittedCondition)) {
    if (queue.policy != StopPolicy::kHoldAndDrain || editor.is_true(kEvictedCondition)) return Step::kContinue;
    editor.evict(queue.stopped_reason, "", "The " + std::string(to_text(queue.kind)) + " is stopped");
    return Step::kDone;
  }
  if (!queue.there) {
    editor.release(kMisconfiguredReason, queue_message(queue.kind, queue.name, QueueTrouble::kTerminating));
    return Step::kDone;
  }
  if (queue.policy == StopPolicy::kNone) return Step::kContinue;
  editor.release(kSuspendedReason, queue_message(queue.kind, queue.name, QueueTrouble::kStopped));
  return Step::kDone;
}

}  // namespace

bool is_inactive(const ClusterQueue& queue) {
  const Condition* active = find_condition(queue.status.conditions, kActiveCondition);
  return queue.stop_policy != StopPolicy::kNone || queue.meta.deleting || (active != nullptr && !active->is_true());
}

void note_restarted_queues(WorkloadEditor& editor, const state::QueuesOf& queues) {
  const bool local_runs = queues.local != nullptr && queues.local->stop_policy == StopPolicy::kNone;
  if (local_runs && waits_for_restart(editor, kLocalQueueStoppedReason)) {
    editor.set(kRequeuedCondition, true, kLocalQueueRestartedReason,
               "The LocalQueue was restarted after being stopped");
  }
  const bool cluster_runs = queues.cluster != nullptr && queues.cluster->stop_policy == StopPolicy::kNone;
  if (cluster_runs && waits_for_restart(editor, kClusterQueueStoppedReason)) {
    editor.set(kRequeuedCondition, true, kClusterQueueRestartedReason,
               "The ClusterQueue was restarted after being stopped");
  }
}

bool is_kept_out(const Workload& workload, const state::QueuesOf& queues) {
  return !blocker_of(workload, queues).reason.empty();
}

bool is_behind(const ClusterQueue& queue) {
  const Condition* active = find_condition(queue.status.conditions, kActiveCondition);
  return active != nullptr && active->observed_generation < queue.meta.generation;
}

void set_blocked_condition(WorkloadEditor& editor, const state::QueuesOf& queues, const state::Inadmissible* found) {
  const Condition* present = editor.find(kQuotaReservedCondition);

  const bool was_gated = present != nullptr && present->reason == kAdmissionGatedReason;
  Blocker blocker = blocker_of(editor.workload(), queues);
  if (blocker.reason.empty()) {
    if (present == nullptr || !is_queue_block_reason(*present)) return;
    if (found != nullptr && !was_gated) {
      if (editor.changed()) editor.set(kQuotaReservedCondition, false, found->reason, found->message);
      return;
    }
    editor.set(kQuotaReservedCondition, false, kPendingEvaluationReason,
               was_gated ? "AdmissionGatedBy cleared, waiting for quota reservation" : kIsPending);
    if (was_gated)
      editor.record_event(EventReason::kAdmissionGateCleared, "Admission gate cleared, workload is now admissible");
    return;
  }
  if (blocker.reason == kAdmissionGatedReason && !was_gated) {
    editor.record_event(EventReason::kAdmissionGated,
                        "Workload admission is gated by: " +
                            std::string(editor.workload().meta.annotation(kAdmissionGatedByAnnotation)));
  }
  editor.set(kQuotaReservedCondition, false, blocker.reason, blocker.message);
}

void say_pending(WorkloadEditor& editor) {
  if (editor.find(kQuotaReservedCondition) != nullptr) return;
  editor.set(kQuotaReservedCondition, false, kPendingEvaluationReason, kIsPending);
}

Step enforce_stop_policies(WorkloadEditor& editor, const state::QueuesOf& queues) {
  const LocalQueue* local = queues.local;
  const ClusterQueue* cluster = queues.cluster;
  const std::array holders = {
      Holder{QueueKind::kLocalQueue, editor.workload().queue_name, local != nullptr && !local->meta.deleting,
             local == nullptr ? StopPolicy::kNone : local->stop_policy, kLocalQueueStoppedReason},
      Holder{QueueKind::kClusterQueue, queues.cluster_name, cluster != nullptr && !cluster->meta.deleting,
             cluster == nullptr ? StopPolicy::kNone : cluster->stop_policy, kClusterQueueStoppedReason},
  };
  for (const Holder& holder : holders) {
    if (enforce_stop_policy(editor, holder) == Step::kDone) return Step::kDone;
  }
  return Step::kContinue;
}

}  // namespace muster::reconcilers
