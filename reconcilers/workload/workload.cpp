#include "reconcilers/workload/workload.h"

#include <algorithm>

#include "api/texts/workload_texts.h"
#include "jobs/job_kind.h"
#include "reconcilers/workload/execution_time.h"
#include "reconcilers/workload/flavor_fallback.h"
#include "reconcilers/workload/workload_checks.h"
#include "reconcilers/workload/workload_owner.h"
#include "reconcilers/workload/workload_priority.h"
#include "reconcilers/workload/workload_queues.h"
#include "reconcilers/workload/workload_timeouts.h"
#include "scheduler/decision.h"
#include "scheduler/eligibility.h"
#include "state/admission_block.h"
#include "state/decision_log.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

void set_inactive(const Workload& workload, Plan& plan) {
  plan.writes.push_back({.verb = Verb::kPatch,
                         .target = key_of(kWorkloads, workload.meta),
                         .body = with_version(workload.meta, {{"spec", {{"active", false}}}}),
                         .decisions = {state::deactivation_of(workload)}});
}

// Lets an evicted Workload return to its queue as soon as the reason that prevents this is over.
void requeue(WorkloadEditor& editor) {
  const Condition* requeued = editor.find(kRequeuedCondition);
  if (requeued == nullptr || requeued->is_true()) return;
  const std::string reason = requeued->reason;
  if (says_deactivated(reason)) {
    // The attempts up to the limit no longer count. A pause by a user is not an attempt, and does not change
    // the count.
    if (deactivation_cause(reason)) editor.status.requeue_state.reset();
    editor.set(kRequeuedCondition, true, kReactivatedReason, "The workload was reactivated");
  } else if (reason == kPodsReadyTimeoutReason || reason == kAdmissionCheckReason || reason == kFlavorFallbackReason) {
    editor.set(kRequeuedCondition, true, kBackoffFinishedReason, "The workload backoff was finished");
  }
}

Step await_backoff(WorkloadEditor& editor, Plan& plan) {
  const auto& state = editor.status.requeue_state;
  // With a reservation the backoff has not begun: the job has to stop first.
  if (!state || state->requeue_at.is_zero() || editor.is_true(kQuotaReservedCondition)) return Step::kContinue;
  const TimePoint end = to_time_point(state->requeue_at);
  if (editor.time() < end)
    plan.wake_at(end);
  else
    editor.status.requeue_state->requeue_at = {};
  return Step::kDone;
}

// The requeueState of a Workload that has reached the limit of attempts shows users the reason. A pause by a
// user must not cost or add attempts. Every other cause deletes the requeueState.
bool keeps_requeue_state(const WorkloadEditor& editor) {
  const auto cause = deactivation_cause(editor.find(kEvictedCondition)->reason);
  return !cause || *cause == kRequeuingLimitExceededReason;
}

void deactivate(WorkloadEditor& editor) {
  const Condition* target = editor.find(kDeactivationTargetCondition);
  // Flavors can turn out to be exhausted while the Workload waits, evicted for another reason.
  const bool exhausted =
      target != nullptr && target->reason == kFlavorsExhaustedReason && !editor.is_true(kQuotaReservedCondition);
  if (exhausted || !editor.is_true(kEvictedCondition)) {
    std::string cause, message = "The workload is deactivated";
    if (target != nullptr) {
      cause = target->reason;
      message.append(" due to ").append(target->message);
    }
    editor.evict(kDeactivatedReason, cause, message);
  }
  editor.remove(kDeactivationTargetCondition);
  // A check can have answered after the eviction, while the job was stopping. With a reservation it can answer again.
  if (!editor.is_true(kQuotaReservedCondition)) editor.reset_checks();
  if (!keeps_requeue_state(editor)) editor.status.requeue_state.reset();
}

void tell_admitted(WorkloadEditor& editor) {
  const Timestamp reserved = editor.find(kQuotaReservedCondition)->last_transition;
  const int64_t waited = to_timestamp(editor.time()).seconds - reserved.seconds;
  const std::string queue = editor.status.admission ? editor.status.admission->cluster_queue : "";
  editor.record_event(EventReason::kAdmitted, "Admitted by ClusterQueue " + queue +
                                                  ", wait time since reservation was " + std::to_string(waited) + "s");
}

// One pass over one Workload.
struct WorkloadContext : ReconcileContext {
  state::QueuesOf queues_of_workload;
};

// Without a QuotaReserved condition, a Workload has no Admitted condition.
void sync_admission(WorkloadEditor& editor, const WorkloadContext& context) {
  const ObjectMeta& meta = editor.workload().meta;
  const state::PendingDecision* decision = context.decisions.pending_decision_on(meta.ns, meta.name);
  const state::Inadmissible* found = decision == nullptr ? nullptr : std::get_if<state::Inadmissible>(decision);
  if (!editor.is_true(kQuotaReservedCondition)) set_blocked_condition(editor, context.queues_of_workload, found);
  // The reconciler of admissions writes the decisions of the scheduler.
  if (decision == nullptr && context.queues().rules.enabled(Gate::kUnadmittedWorkloadsExplicitStatus))
    say_pending(editor);
  if (editor.find(kQuotaReservedCondition) == nullptr) return;
  editor.sync_admitted();
  if (editor.is_true(kAdmittedCondition)) tell_admitted(editor);
}

// The Workload itself does not change then, but other Workloads can be admitted.
void wake_when_block_ends(const WorkloadEditor& editor, const QueueSettings& settings, Plan& plan) {
  if (!settings.wait_for_pods_ready || !settings.wait_for_pods_ready->block_admission) return;
  const auto block = state::admission_block(editor.workload(), *settings.wait_for_pods_ready);
  if (block && block->until && editor.time() < *block->until) plan.wake_at(*block->until);
}

// --- The pass over its status ---

Step end_when_changed(const WorkloadEditor& editor) {
  return editor.changed() ? Step::kDone : Step::kContinue;
}

Step update_retry_time(WorkloadEditor& editor, const WorkloadContext&, Plan&) {
  note_retry_time(editor);
  return end_when_changed(editor);
}

Step update_from_activity(WorkloadEditor& editor, const WorkloadContext&, Plan& plan) {
  if (!editor.workload().active) {
    deactivate(editor);
    return end_when_changed(editor);
  }
  if (editor.is_true(kDeactivationTargetCondition)) {
    set_inactive(editor.workload(), plan);
    return Step::kDone;
  }
  if (await_backoff(editor, plan) == Step::kDone) return Step::kDone;
  forget_flavors_when_reactivated(editor);
  requeue(editor);
  return end_when_changed(editor);
}

Step update_from_restarted_queues(WorkloadEditor& editor, const WorkloadContext& context, Plan&) {
  note_restarted_queues(editor, context.queues_of_workload);
  return end_when_changed(editor);
}

Step keep_checks(WorkloadEditor& editor, const WorkloadContext& context, Plan&) {
  const ClusterQueue* queue = context.queues_of_workload.cluster;
  if (queue != nullptr && (editor.is_true(kQuotaReservedCondition) || !is_behind(*queue))) sync_checks(editor, *queue);
  return Step::kContinue;
}

Step update_from_failed_flavors(WorkloadEditor& editor, const WorkloadContext& context, Plan& plan) {
  if (editor.is_true(kQuotaReservedCondition)) return Step::kContinue;
  return review_failed_flavors(editor, context.queues_of_workload, context, plan);
}

// Without quota no step is left.
Step update_from_admission(WorkloadEditor& editor, const WorkloadContext& context, Plan& plan) {
  const bool reserved = editor.is_true(kQuotaReservedCondition);
  if (!editor.is_true(kAdmittedCondition) || !reserved) sync_admission(editor, context);
  if (!reserved) return Step::kDone;
  wake_when_block_ends(editor, context.queues(), plan);
  return Step::kContinue;
}

Step leave_failed_flavors(WorkloadEditor& editor, const WorkloadContext& context, Plan& plan) {
  return enforce_fallback_rules(editor, context.queues_of_workload, context, plan);
}

Step update_from_checks(WorkloadEditor& editor, const WorkloadContext& context, Plan&) {
  if (enforce_checks(editor) == Step::kDone) return Step::kDone;
  return release_unanswered(editor, context.state);
}

Step update_from_stop_policies(WorkloadEditor& editor, const WorkloadContext& context, Plan&) {
  return enforce_stop_policies(editor, context.queues_of_workload);
}

Step update_from_timeouts(WorkloadEditor& editor, const WorkloadContext& context, Plan& plan) {
  enforce_pods_ready_timeouts(editor, context.queues().wait_for_pods_ready, context.state, plan);
  enforce_execution_time(editor, plan);
  return Step::kDone;
}

constexpr Step (*kStepsOfStatus[])(WorkloadEditor&, const WorkloadContext&, Plan&) = {
    update_retry_time,          update_from_activity,  update_from_restarted_queues, keep_checks,
    update_from_failed_flavors, update_from_admission, leave_failed_flavors,         update_from_checks,
    update_from_stop_policies,  update_from_timeouts};

// --- The whole pass ---

// Its job's reconciler stops the job, then lets it go.
Step leave_deleted(const Workload& workload, const ReconcileContext&, Plan&) {
  return workload.meta.deleting ? Step::kDone : Step::kContinue;
}

Step update_priority(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  return reconcile_priority(workload, context.state, plan);
}

Step update_status(const Workload& workload, const ReconcileContext& context, Plan& plan) {
  WorkloadEditor editor(workload, context);
  const WorkloadContext pass{context, state::queues_of(workload, context.state)};
  run_pass(kStepsOfStatus, editor, pass, plan);
  editor.write_into(plan);
  return Step::kDone;
}

constexpr Step (*kSteps[])(const Workload&, const ReconcileContext&, Plan&) = {
    reconcile_ownerless, leave_deleted, reconcile_retention, update_priority, update_status};

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  if (const Workload* workload = context.state.find<Workload>(key.ns, key.name))
    run_pass(kSteps, *workload, context, plan);
  return plan;
}

// Queues are written often, for their counts; Workloads care about little of them.
bool same_for_workloads(const ClusterQueue& a, const ClusterQueue& b) {
  return is_inactive(a) == is_inactive(b) && is_behind(a) == is_behind(b) && a.stop_policy == b.stop_policy &&
         a.meta.deleting == b.meta.deleting && a.admission_checks == b.admission_checks && a.fallback == b.fallback &&
         flavors_of(a) == flavors_of(b);
}

bool same_for_workloads(const LocalQueue& a, const LocalQueue& b) {
  return a.stop_policy == b.stop_policy && a.meta.deleting == b.meta.deleting && a.cluster_queue == b.cluster_queue;
}

// `queue` is the current queue, the previous queue or a deleted queue. A queue without a condition has just
// been created.
template <class Queue>
bool is_news(const Queue& queue, const Queue* present) {
  if (present == nullptr) return true;
  if (present == &queue) return find_condition(queue.status.conditions, kActiveCondition) == nullptr;
  return !same_for_workloads(queue, *present);
}

void add_keys(const std::vector<const Workload*>& workloads, std::vector<ObjectKey>& keys) {
  for (const Workload* workload : workloads) keys.push_back(key_of(kWorkloads, workload->meta));
}

void enqueue_for_cluster_queue(const state::ClusterState& state, const ClusterQueue& queue,
                               std::vector<ObjectKey>& keys) {
  const std::string& name = queue.meta.name;
  if (!is_news(queue, state.find<ClusterQueue>(name))) return;
  add_keys(state.by(state::kWorkloadsByClusterQueue, {"", name}), keys);
  for (const LocalQueue* local : state.by(state::kLocalQueuesByClusterQueue, {"", name}))
    add_keys(state.by(state::kWorkloadsByQueue, {local->meta.ns, local->meta.name}), keys);
}

// The answer to the question whether a failed flavor leaves other flavors can change now.
void enqueue_those_with_failed_flavors(const state::ClusterState& state, const TypedObject& object,
                                       std::vector<ObjectKey>& keys) {
  const ObjectMeta& meta = meta_of(object);
  const TypedObject* present = state.find(type_of(object), meta.ns, meta.name);
  if (present != nullptr && meta_of(*present).generation == meta.generation) return;
  const auto waits = [](const TypedObject& candidate) {
    const Workload& workload = *std::get<WorkloadPtr>(candidate);
    return !workload.status.flavors.attempts.empty() && !workload.has_quota_reserved() && !workload.finished();
  };
  for (const TypedObject* workload : state.select(kWorkloads, waits)) keys.push_back(key_of(*workload));
}

// Of any kind. Pods are watched as several types, and only one of them is that of queued pods.
bool is_job(const ResourceType& type) {
  const jobs::JobKind* kind = jobs::find_job_kind(type);
  return kind != nullptr && kind->type == type;
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  const ObjectMeta& meta = meta_of(object);
  if (std::holds_alternative<WorkloadPtr>(object)) {
    keys.push_back(key_of(object));
  } else if (is_job(type_of(object))) {
    const TypedObject* present = state.find(type_of(object), meta.ns, meta.name);
    if (present == nullptr || meta_of(*present).uid != meta.uid)
      add_keys(state.by(state::kWorkloadsByOwner, {"", meta.uid}), keys);
  } else if (const auto* cluster_queue = std::get_if<ClusterQueuePtr>(&object)) {
    enqueue_for_cluster_queue(state, **cluster_queue, keys);
    if ((*cluster_queue)->fallback) enqueue_those_with_failed_flavors(state, object, keys);
  } else if (std::holds_alternative<ResourceFlavorPtr>(object) || std::holds_alternative<CohortPtr>(object)) {
    enqueue_those_with_failed_flavors(state, object, keys);
  } else if (const auto* priority_class = std::get_if<PriorityClassPtr>(&object)) {
    enqueue_for_priority_class(state, **priority_class, keys);
  } else if (const auto* local_queue = std::get_if<LocalQueuePtr>(&object)) {
    if (is_news(**local_queue, state.find<LocalQueue>(meta.ns, meta.name)))
      add_keys(state.by(state::kWorkloadsByQueue, {meta.ns, meta.name}), keys);
  }
}

constexpr const ResourceType* kKinds[] = {&kWorkloads};

}  // namespace

WorkloadPass pass_over(const Workload& workload, const ReconcileContext& context) {
  Plan plan;
  WorkloadEditor editor(workload, context);
  const WorkloadContext pass{context, state::queues_of(workload, context.state)};
  run_pass(kStepsOfStatus, editor, pass, plan);
  // A pass writes the status; only the deactivation is a second write.
  WorkloadPass passed{.deactivates = !plan.writes.empty(), .again_at = plan.again_at};
  if (editor.changed()) passed.status = std::move(editor.status);
  return passed;
}

const Reconciler workload_reconciler = {
    .name = "workload", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
