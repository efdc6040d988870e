// Workloads as they come and change: into a queue, into the ledger, and out again.
#include <algorithm>

#include "api/kinds/on_hold.h"
#include "api/meta/constants.h"
#include "scheduler/reservation.h"
#include "scheduler/scheduler.h"
#include "scheduler/workload_order.h"

namespace muster {
namespace {

using Place = WorkloadState::Place;

bool same_condition(const Workload& a, const Workload& b, std::string_view type) {
  const Condition *left = find_condition(a.status.conditions, type), *right = find_condition(b.status.conditions, type);
  if (left == nullptr || right == nullptr) return left == right;
  return *left == *right;
}

// When it can compete again; the zero time: never, until its status changes. Nullopt: now.
std::optional<Timestamp> backoff(const Workload& workload, Timestamp now) {
  const Condition* requeued = find_condition(workload.status.conditions, kRequeuedCondition);
  if (requeued != nullptr && requeued->status == "False") return Timestamp{};
  if (!workload.status.requeue_state || workload.status.requeue_state->requeue_at.is_zero()) return std::nullopt;
  const Timestamp at = workload.status.requeue_state->requeue_at;
  return at <= now ? std::nullopt : std::optional(at);
}

// Whether QuotaReserved=False has a reason that comes from no evaluation.
bool says_nothing_found(const Workload& workload) {
  const Condition* reserved = find_condition(workload.status.conditions, kQuotaReservedCondition);
  if (reserved == nullptr || reserved->is_true()) return false;
  for (const PendingReason found :
       {PendingReason::kWaitingForQuota, PendingReason::kExceedsMaxQuota, PendingReason::kNoMatchingFlavor,
        PendingReason::kWaitingForPreemptedWorkloads, PendingReason::kWaitingForProtectedWorkloads,
        PendingReason::kWaitingForPodsReady}) {
    if (reserved->reason == to_text(found)) return false;
  }
  return true;
}

}  // namespace

Timestamp Scheduler::queued_since(const Workload& workload) const {
  using Timestamps = RequeuingStrategy::Timestamp;
  return order_timestamp(workload, state_.settings.order_by_eviction ? Timestamps::kEviction : Timestamps::kCreation);
}

void Scheduler::read_requests(WorkloadState& state, const std::vector<Requests>& pod_requests) {
  state.pod_sets.clear();
  for (size_t i = 0; i < state.object->pod_sets.size(); ++i) {
    PodSetState pod_set{
        .count = count_after_reclaim(*state.object, state.object->pod_sets[i], state_.settings.reclaims),
        .per_pod = {}};
    if (i < pod_requests.size()) {
      for (const auto& [resource, amount] : pod_requests[i])
        pod_set.per_pod.push_back({state_.names.resource(resource), amount});
    }
    // The order in which Kueue visits resources: if several refuse, the user sees the first one.
    std::sort(pod_set.per_pod.begin(), pod_set.per_pod.end(), [&](const ResourceAmount& a, const ResourceAmount& b) {
      return state_.names.visiting_order(a.resource) < state_.names.visiting_order(b.resource);
    });
    state.pod_sets.push_back(std::move(pod_set));
  }
}

// A history of another queue does not apply to this queue's flavors.
std::vector<FlavorId> Scheduler::failed_flavors(const Workload& workload, const QueueState& queue) const {
  std::vector<FlavorId> failed;
  const FlavorHistory& history = workload.status.flavors;
  if (!history.is_about(queue.name)) return failed;
  for (const FlavorAttempt& attempt : history.attempts) {
    const std::optional<FlavorId> flavor = state_.names.find_flavor(attempt.flavor);
    if (attempt.failure && flavor) failed.push_back(*flavor);
  }
  std::sort(failed.begin(), failed.end());
  return failed;
}

bool Scheduler::holds_quota(const WorkloadState& state) const {
  return state.object->has_quota_reserved() && state.object->status.admission;
}

void Scheduler::set_local_queue(WorkloadState& state) {
  LocalQueueState& local = local_queue_named(path_of(state.object->meta.ns, state.object->queue_name));
  if (state.local_queue == &local) return;
  unset_local_queue(state);
  state.local_queue = &local;
  state.index_in_local_queue = local.workloads.size();
  local.workloads.push_back(&state);
}

void Scheduler::unset_local_queue(WorkloadState& state) {
  if (state.local_queue == nullptr) return;
  std::vector<WorkloadState*>& all = state.local_queue->workloads;
  all[state.index_in_local_queue] = all.back();
  all[state.index_in_local_queue]->index_in_local_queue = state.index_in_local_queue;
  all.pop_back();
  drop_if_unused(*std::exchange(state.local_queue, nullptr));
}

void Scheduler::put(const WorkloadPtr& object, const std::vector<Requests>& pod_requests, Now now,
                    std::string misconfigured, bool can_be_stopped) {
  // Finished Workloads request and hold nothing; their number can be very large.
  if (object->finished()) return remove_workload(object->meta.ns, object->meta.name);
  std::unique_ptr<WorkloadState>& slot = workloads_[path_of(object->meta)];
  if (slot && slot->object->meta.uid != object->meta.uid) {
    leave(*slot);
    unset_local_queue(*slot);
    unexplained_.erase(path_of(object->meta));
    slot.reset();
  }
  const bool known = slot != nullptr;
  if (!known) {
    slot = std::make_unique<WorkloadState>();
    slot->sequence = ++last_sequence_;
  }
  WorkloadState& state = *slot;
  const WorkloadPtr before = std::exchange(state.object, object);
  state.can_be_stopped = can_be_stopped;
  // The admission is still being written: a version without it is older than the decision. A Workload that was
  // deactivated or deleted since then still leaves.
  if (state.assumed && !holds_quota(state) && object->active && !object->meta.deleting) return;

  if (state.place == Place::kReserved) {
    read_requests(state, pod_requests);
    if (holds_quota(state)) return update_reserved(state, now);
    state.misconfigured = std::move(misconfigured);
    leave(state);
    return enter(state, now);
  }
  if (state.in_queue()) {
    WorkloadState next;
    next.object = object;
    read_requests(next, pod_requests);
    next.failed = failed_flavors(*object, *state.queue);
    next.shape = shapes_.shape_of(next);
    // The key of its position is the old value.
    state.object = before;
    const bool keeps = keeps_place(state, next) && misconfigured == state.misconfigured;
    if (!keeps) leave(state);
    state.object = object;
    if (keeps) return note_word(state);
  }
  state.misconfigured = std::move(misconfigured);
  read_requests(state, pod_requests);
  enter(state, now);
}

// Whether a pending Workload keeps its position although its object has changed. Most changes are muster's own status
// messages, which must not change its position or wake its shape. A parked Workload also moves after a change that can
// make it eligible: the end of an eviction, a backoff, an admission check.
bool Scheduler::keeps_place(const WorkloadState& state, const WorkloadState& next) const {
  const Workload &before = *state.object, &after = *next.object;
  if (next.shape != state.shape || after.priority != before.priority || after.queue_name != before.queue_name ||
      queued_since(after) != state.queued_since || !after.active || after.meta.deleting || holds_quota(next) ||
      is_on_hold(after) || !after.meta.annotation(kAdmissionGatedByAnnotation).empty())
    return false;
  return state.queue->pending.competes(state) ||
         (same_condition(before, after, kEvictedCondition) && same_condition(before, after, kRequeuedCondition) &&
          before.status.requeue_state == after.status.requeue_state &&
          before.status.admission_checks == after.status.admission_checks);
}

void Scheduler::enter(WorkloadState& state, Now now) {
  set_local_queue(state);
  if (holds_quota(state)) return take_reservation(state, now);
  enter_queue(state, to_timestamp(now.wall));
}

void Scheduler::enter_queue(WorkloadState& state, Timestamp now) {
  const Workload& object = *state.object;
  const LocalQueueState& local = *state.local_queue;
  if (!object.active || object.meta.deleting || is_on_hold(object) || local.object == nullptr ||
      local.object->stop_policy != StopPolicy::kNone || local.queue == nullptr || local.queue->object == nullptr ||
      !object.meta.annotation(kAdmissionGatedByAnnotation).empty())
    return;
  QueueState& queue = *local.queue;
  state.queue = &queue;
  state.rank = object.priority;
  state.queued_since = queued_since(object);
  std::vector<FlavorId> failed = failed_flavors(object, queue);
  // With another choice the flavors are tried from the first one again.
  if (failed != state.failed) state.progress = {};
  state.failed = std::move(failed);
  state.shape = shapes_.shape_of(state);
  if (const std::optional<Timestamp> until = backoff(object, now)) {
    queue.pending.hold_back(state, *until);
  } else if (!queue.strict() && queue.pending.refused(state.shape)) {
    // The result would be the same. In a StrictFIFO queue it must still become the head and block the others.
    queue.pending.park(state);
  } else {
    queue.pending.push(state);
    mark_dirty(queue);
  }
  note_word(state);
}

void Scheduler::note_word(const WorkloadState& state) {
  std::string path = path_of(state.object->meta);
  if (says_nothing_found(*state.object))
    unexplained_.insert_or_assign(std::move(path), const_cast<WorkloadState*>(&state));
  else
    unexplained_.erase(path);
}

// Out of its queue or the ledger; its flavor scan is forgotten when it held quota.
void Scheduler::leave(WorkloadState& state) {
  if (state.place == Place::kReserved) {
    QueueState& queue = *state.queue;
    const bool counted = queue.node != kNoNode;
    release(state_, state);
    state.usage.clear();
    state.assumed = state.assumed_eviction = state.evicting = false;
    state.started_at.reset();
    state.progress = {};
    const LocalQueue* local = state.local_queue == nullptr ? nullptr : state.local_queue->object.get();
    if (!counted)
      drop_if_unused(queue);
    else
      released(queue, local != nullptr && local->stop_policy == StopPolicy::kNone);
  } else if (state.in_queue()) {
    QueueState& queue = *state.queue;
    queue.pending.remove(state);
    if (queue.pending.preferred() == &state) queue.pending.prefer(nullptr);
    mark_dirty(queue);
    state.queue = nullptr;
    state.refusal.reset();
    state.awaits_protected_since.reset();
    left_.push_back(path_of(state.object->meta));
    unexplained_.erase(left_.back());
  }
  state.place = Place::kNowhere;
}

// Protection counts from the timestamp of the admission. A timestamp has no fraction of a second, so the replica that
// decided uses its exact time: an admission after the start of a preemptor's wait must not seem older.
void Scheduler::note_start(WorkloadState& state, Now now) const {
  const Condition* admitted = find_condition(state.object->status.conditions, kAdmittedCondition);
  if (admitted == nullptr || !admitted->is_true()) {
    state.started_at.reset();
    return;
  }
  if (state.started_at && state.started_stamp == admitted->last_transition) return;
  if (!state.started_at) state.started_class = state.object->priority_class;
  const Duration age = std::max(now.wall - to_time_point(admitted->last_transition), Duration::zero());
  const MonotonicTime by_stamp = now.monotonic - age;
  state.started_at = state.started_at && state.assumed ? std::max(*state.started_at, by_stamp) : by_stamp;
  state.started_stamp = admitted->last_transition;
}

void Scheduler::take_reservation(WorkloadState& state, Now now) {
  const Condition* reserved = find_condition(state.object->status.conditions, kQuotaReservedCondition);
  read_admission_usage(state_.names, *state.object, *state.object->status.admission, state_.settings.reclaims,
                       state.usage, state.used_quotas);
  state.reserved_at = reserved->last_transition.is_zero() ? to_timestamp(now.wall) : reserved->last_transition;
  note_start(state, now);
  state.rank = state.object->priority;
  state.queued_since = queued_since(*state.object);
  state.evicting = state.object->evicted();
  state.has_claim = false;
  QueueState& queue = queue_named(state.object->status.admission->cluster_queue);
  reserve(state_, state, queue);
  // Free quota has changed: scans of the queue start at the first flavor again (flavorFungibility, KEP-582).
  ++queue.generation;
  mark_dirty(queue);
}

// A Workload that keeps its reservation: its usage and its eviction can change.
void Scheduler::update_reserved(WorkloadState& state, Now now) {
  const bool evicting = state.object->evicted() || state.assumed_eviction;
  const bool waits_for_eviction = state.assumed_eviction && !state.object->evicted();
  set_local_queue(state);
  QueueState& queue = *state.queue;
  const Amounts before = state.usage;
  const int32_t rank_before = state.rank;
  const bool moved = state.object->status.admission->cluster_queue != queue.name;
  release(state_, state);
  take_reservation(state, now);
  state.evicting = evicting;
  state.assumed = false;
  state.assumed_eviction = waits_for_eviction;
  // Less than before is a release: ended pods release their quota while the others run (KEP-78).
  if (moved || before != state.usage) {
    if (queue.node != kNoNode) released(queue, true);
    drop_if_unused(queue);
  }
  // Pending Workloads can evict it now.
  if (state.rank < rank_before && state.queue->node != kNoNode) {
    for (const NodeId node : state_.ledger.queues_of_tree(state_.ledger.root(state.queue->node)))
      state_.queue_at(node)->moved |= state_.queue_at(node)->preempts();
    released(*state.queue, true);
  }
}

void Scheduler::remove_workload(const std::string& ns, const std::string& name) {
  const auto it = workloads_.find(path_of(ns, name));
  if (it == workloads_.end()) return;
  leave(*it->second);
  unset_local_queue(*it->second);
  unexplained_.erase(it->first);
  workloads_.erase(it);
}

void Scheduler::undo_assumption(WorkloadState& state, Now now) {
  if (state.place != Place::kReserved) return;
  if (state.assumed) {
    leave(state);
    return enter(state, now);
  }
  if (!state.assumed_eviction) return;
  state.assumed_eviction = false;
  state.evicting = state.object->evicted();
  mark_dirty(*state.queue);
}

void Scheduler::roll_back(const std::string& ns, const std::string& name, Now now) {
  if (WorkloadState* state = find(ns, name)) undo_assumption(*state, now);
}

void Scheduler::roll_back_all(Now now) {
  for (const auto& [key, state] : workloads_) {
    undo_assumption(*state, now);
    // Its last result might not have been written.
    if (state->in_queue()) note_word(*state);
  }
}

}  // namespace muster
