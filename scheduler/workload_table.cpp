#include "scheduler/workload_table.h"

#include <algorithm>
#include <utility>

#include "api/meta/constants.h"
#include "kinds/on_hold.h"
#include "scheduler/eligibility.h"
#include "scheduler/reservation.h"
#include "scheduler/workload_reading.h"

namespace muster::scheduler {
namespace {

bool same_condition(const Workload& a, const Workload& b, std::string_view type) {
  const Condition *left = find_condition(a.status.conditions, type), *right = find_condition(b.status.conditions, type);
  if (left == nullptr || right == nullptr) return left == right;
  return *left == *right;
}

}  // namespace

void WorkloadTable::set_local_queue(WorkloadState& state) {
  LocalQueueState& local = queues_.local_queue(muster::path_of(state.object->meta.ns, state.object->queue_name));
  if (state.local_queue == &local) return;
  unset_local_queue(state);
  state.local_queue = &local;
  state.index_in_local_queue = local.workloads.size();
  local.workloads.push_back(&state);
}

void WorkloadTable::unset_local_queue(WorkloadState& state) {
  if (state.local_queue == nullptr) return;
  std::vector<WorkloadState*>& all = state.local_queue->workloads;
  // The last one takes its place: a LocalQueue itself has no order.
  all[state.index_in_local_queue] = all.back();
  all[state.index_in_local_queue]->index_in_local_queue = state.index_in_local_queue;
  all.pop_back();
  queues_.drop_if_unused(*std::exchange(state.local_queue, nullptr));
}

void WorkloadTable::put(const WorkloadPtr& object, const std::vector<Requests>& pod_requests, Now now,
                        std::string misconfigured, bool can_be_stopped) {
  // Finished Workloads request and hold nothing; their number can be very large.
  if (object->finished()) return remove(object->meta.ns, object->meta.name);
  std::unique_ptr<WorkloadState>& slot = state_.workloads[path_of(object->meta)];
  // Deleted and created again; the watch has shown the new one only.
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
  if (state.holds_quota() && state.holding().assumed && !has_admission(*object) && object->active &&
      !object->meta.deleting)
    return;

  if (state.holds_quota()) {
    state.pod_sets = read_pod_sets(*object, pod_requests, state_.names, state_.settings.reclaims);
    if (has_admission(*object)) return update_reserved(state, now);
    state.misconfigured = std::move(misconfigured);
    leave(state);
    return enter(state, now);
  }
  if (state.in_queue()) {
    // As it would be now, to compare it with its position.
    WorkloadState next;
    next.object = object;
    next.pod_sets = read_pod_sets(*object, pod_requests, state_.names, state_.settings.reclaims);
    next.failed = failed_flavors(*object, *state.queue, state_.names);
    next.shape = shapes_.shape_of(next);
    // The key of its position is the old value.
    state.object = before;
    const bool keeps = keeps_place(state, next) && misconfigured == state.misconfigured;
    if (!keeps) leave(state);
    state.object = object;
    if (keeps) return note_unexplained(state);
  }
  state.misconfigured = std::move(misconfigured);
  state.pod_sets = read_pod_sets(*object, pod_requests, state_.names, state_.settings.reclaims);
  enter(state, now);
}

// Whether a pending Workload keeps its position although its object has changed. Most changes are muster's own status
// messages, which must not change its position or wake its shape. A parked Workload also moves after a change that can
// make it eligible: the end of an eviction, a backoff, an admission check.
bool WorkloadTable::keeps_place(const WorkloadState& state, const WorkloadState& next) const {
  const Workload &before = *state.object, &after = *next.object;
  if (next.shape != state.shape || after.priority != before.priority || after.queue_name != before.queue_name ||
      queued_since(after, state_.settings) != state.queued_since || !after.active || after.meta.deleting ||
      has_admission(after) || is_on_hold(after) || !after.meta.annotation(kAdmissionGatedByAnnotation).empty())
    return false;
  return state.queue->pending.competes(state) ||
         (same_condition(before, after, kEvictedCondition) && same_condition(before, after, kRequeuedCondition) &&
          before.status.requeue_state == after.status.requeue_state &&
          before.status.admission_checks == after.status.admission_checks);
}

void WorkloadTable::enter(WorkloadState& state, Now now) {
  set_local_queue(state);
  if (has_admission(*state.object)) return take_reservation(state, {}, now);
  enter_queue(state, to_timestamp(now.wall));
}

void WorkloadTable::enter_queue(WorkloadState& state, Timestamp now) {
  const Workload& object = *state.object;
  const LocalQueueState& local = *state.local_queue;
  // The condition of such a Workload is written by its own reconciler, which names the queue or the gate.
  if (!object.active || object.meta.deleting || is_on_hold(object) || local.object == nullptr ||
      local.object->stop_policy != StopPolicy::kNone || local.queue == nullptr || local.queue->object == nullptr ||
      !object.meta.annotation(kAdmissionGatedByAnnotation).empty())
    return;
  QueueState& queue = *local.queue;
  state.queue = &queue;
  state.rank = object.priority;
  state.queued_since = queued_since(object, state_.settings);
  std::vector<FlavorId> failed = failed_flavors(object, queue, state_.names);
  // With another choice the flavors are tried from the first one again.
  if (failed != state.failed) state.progress = {};
  state.failed = std::move(failed);
  state.shape = shapes_.shape_of(state);
  if (const std::optional<Timestamp> until = requeued_at(object, now)) {
    queue.pending.hold_back(state, *until);
  } else if (!queue.strict() && queue.pending.refused(state.shape)) {
    // The result would be the same. In a StrictFIFO queue it must still become the head and block the others.
    queue.pending.park(state);
  } else {
    queue.pending.push(state);
    wake_.mark_dirty(queue);
  }
  note_unexplained(state);
}

void WorkloadTable::note_unexplained(WorkloadState& state) {
  std::string path = path_of(state.object->meta);
  if (lacks_result(*state.object))
    unexplained_.insert_or_assign(std::move(path), &state);
  else
    unexplained_.erase(path);
}

// Out of its queue or the ledger; its flavor scan is forgotten when it held quota.
void WorkloadTable::leave(WorkloadState& state) {
  if (state.holds_quota()) {
    QueueState& queue = *state.queue;
    const bool counted = queue.node != kNoNode;
    wake_.released_further(release(state_, state).claim);
    state.progress = {};
    const LocalQueue* local = state.local_queue == nullptr ? nullptr : state.local_queue->object.get();
    // A deleted ClusterQueue lives until the last Workload has released its quota.
    if (!counted)
      queues_.drop_if_unused(queue);
    else
      wake_.released(queue, local != nullptr && local->stop_policy == StopPolicy::kNone);
  } else if (state.in_queue()) {
    QueueState& queue = *state.queue;
    queue.pending.remove(state);
    if (queue.pending.preferred() == &state) queue.pending.prefer(nullptr);
    wake_.mark_dirty(queue);
    state.phase.emplace<std::monostate>();
    state.queue = nullptr;
    left_.push_back(path_of(state.object->meta));
    unexplained_.erase(left_.back());
  }
}

// `held`: what it has held until now, or nothing.
void WorkloadTable::take_reservation(WorkloadState& state, WorkloadState::Holding held, Now now) {
  const Condition* reserved = find_condition(state.object->status.conditions, kQuotaReservedCondition);
  read_admission_usage(state_.names, *state.object, *state.object->status.admission, state_.settings.reclaims,
                       held.claim.quota, held.used_quotas);
  held.claim.further = state_.capacity.held(*state.object, *state.object->status.admission);
  // A client that writes admissions by itself can leave the time out.
  held.reserved_at = reserved->last_transition.is_zero() ? to_timestamp(now.wall) : reserved->last_transition;
  read_start(*state.object, held, now);
  held.evicting = state.object->evicted();
  state.rank = state.object->priority;
  state.queued_since = queued_since(*state.object, state_.settings);
  state.has_claim = false;
  QueueState& queue = queues_.cluster_queue(state.object->status.admission->cluster_queue);
  reserve(state_, state, queue, std::move(held));
  // Free quota has changed: scans of the queue start at the first flavor again (flavorFungibility, KEP-582).
  ++queue.generation;
  wake_.mark_dirty(queue);
}

// A Workload that keeps its reservation: its usage and its eviction can change.
void WorkloadTable::update_reserved(WorkloadState& state, Now now) {
  set_local_queue(state);
  QueueState& queue = *state.queue;
  const Claim before = state.holding().claim;
  const int32_t rank_before = state.rank;
  const bool moved = state.object->status.admission->cluster_queue != queue.name;
  take_reservation(state, release(state_, state), now);
  WorkloadState::Holding& held = state.holding();
  held.assumed = false;
  // The eviction is still being written.
  held.assumed_eviction = held.assumed_eviction && !state.object->evicted();
  held.evicting = held.evicting || held.assumed_eviction;
  // Less than before is a release: ended pods release their quota while the others run (KEP-78).
  if (moved || before != held.claim) {
    if (queue.node != kNoNode) wake_.released(queue, true);
    wake_.released_further(before);
    queues_.drop_if_unused(queue);
  }
  // Pending Workloads can evict it now.
  if (state.rank < rank_before && state.queue->node != kNoNode) {
    for (const NodeId node : state_.ledger.queues_of_tree(state_.ledger.root(state.queue->node)))
      state_.queue_at(node)->moved |= state_.queue_at(node)->preempts();
    wake_.released(*state.queue, true);
  }
}

void WorkloadTable::remove(const std::string& ns, const std::string& name) {
  const auto it = state_.workloads.find(muster::path_of(ns, name));
  if (it == state_.workloads.end()) return;
  leave(*it->second);
  unset_local_queue(*it->second);
  unexplained_.erase(it->first);
  state_.workloads.erase(it);
}

// What was decided and could not be written did not happen: the object of the API server counts.
void WorkloadTable::undo_assumption(WorkloadState& state, Now now) {
  if (!state.holds_quota()) return;
  WorkloadState::Holding& held = state.holding();
  if (held.assumed) {
    leave(state);
    return enter(state, now);
  }
  if (!std::exchange(held.assumed_eviction, false)) return;
  held.evicting = state.object->evicted();
  wake_.mark_dirty(*state.queue);
}

void WorkloadTable::roll_back(const std::string& ns, const std::string& name, Now now) {
  if (WorkloadState* state = state_.find_workload(ns, name)) undo_assumption(*state, now);
}

// Another replica decides now, and from what is written.
void WorkloadTable::roll_back_all(Now now) {
  for (const auto& [key, state] : state_.workloads) {
    undo_assumption(*state, now);
    // Its last result might not have been written.
    if (state->in_queue()) note_unexplained(*state);
  }
}

// Its own reason applies to its Workloads: their earlier results are obsolete.
void WorkloadTable::forget_results(QueueState& stopped) {
  for (const WorkloadState* waiting : stopped.pending.list()) {
    const_cast<WorkloadState*>(waiting)->waiting().refusal.reset();
    left_.push_back(path_of(waiting->object->meta));
  }
}

// A LocalQueue that was created, or that is no longer stopped.
void WorkloadTable::enter_all(const LocalQueueState& local, Timestamp now) {
  const std::vector<WorkloadState*> workloads = local.workloads;
  for (WorkloadState* workload : workloads) {
    if (!workload->in_queue() && !workload->holds_quota()) enter_queue(*workload, now);
  }
}

// A LocalQueue that was deleted or stopped. Workloads that hold quota keep it: their reconciler evicts them if the stop
// policy says so.
void WorkloadTable::leave_all(const LocalQueueState& local) {
  for (WorkloadState* workload : local.workloads) {
    if (workload->in_queue()) leave(*workload);
  }
}

// Also Workloads that no release can help: the change can fix their invalid state, such as the labels of a
// namespace.
void WorkloadTable::wake_all(QueueState& queue, Timestamp now) {
  queue.pending.wake(now);
  for (const WorkloadState* waiting : queue.pending.list()) {
    if (!waiting->is_held_back()) continue;
    WorkloadState& workload = const_cast<WorkloadState&>(*waiting);
    if (!namespace_matches(state_, workload)) continue;
    queue.pending.remove(workload);
    enter_queue(workload, now);
  }
}

// A Workload that was parked with its shape has no separate evaluation. Its refusal is reported if its object has an
// obsolete reason or a pending evaluation.
void WorkloadTable::report_bypassed(std::vector<Decision>& decisions) {
  for (auto it = unexplained_.begin(); it != unexplained_.end();) {
    const WorkloadState& waiting = *it->second;
    if (!waiting.in_queue()) {
      it = unexplained_.erase(it);
      continue;
    }
    const QueueState& queue = *waiting.queue;
    const bool bypassed = queue.active && !waiting.is_held_back() && waiting.waiting().refusal == nullptr &&
                          !queue.pending.competes(waiting) && queue.pending.refused(waiting.shape);
    if (!bypassed) {
      ++it;
      continue;
    }
    const WorkloadState* evaluated = queue.pending.evaluated(waiting.shape);
    const PendingReason found = evaluated == nullptr ? PendingReason::kNone : evaluated->waiting().refusal->reason;
    decisions.push_back(
        Pending{.workload = waiting.object,
                .cluster_queue = queue.name,
                .reason = found == PendingReason::kNone ? PendingReason::kWaitingForQuota : found,
                .message = "Bypassed scheduling evaluation because an equivalent workload recently failed",
                .requeued = QueuePosition::kInadmissible,
                .evaluated = false});
    it = unexplained_.erase(it);
  }
}

std::vector<std::string> WorkloadTable::take_left() {
  return std::exchange(left_, {});
}

}  // namespace muster::scheduler
