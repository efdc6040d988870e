// Which Workloads wake, which ones are evaluated, and when the turns end.
#include <algorithm>

#include "scheduler/preemption/protection.h"
#include "scheduler/queue_readiness.h"
#include "scheduler/scheduler.h"

namespace muster {
namespace {

bool has_failed_checks(const Workload& workload) {
  return std::any_of(
      workload.status.admission_checks.begin(), workload.status.admission_checks.end(),
      [](const AdmissionCheckState& check) { return check.state == kCheckRetry || check.state == kCheckRejected; });
}

bool is_news(const Decision& decision) {
  const auto* pending = std::get_if<Pending>(&decision);
  return pending == nullptr ? !std::holds_alternative<AwaitedVictim>(decision) : pending->changed;
}

}  // namespace

void Scheduler::structure_changed() {
  structure_changed_ = true;
}

void Scheduler::released(QueueState& queue, bool by_running_queue) {
  (by_running_queue ? released_ : deferred_releases_).insert(&queue);
}

void Scheduler::mark_dirty(QueueState& queue) {
  if (structure_changed_ || queue.node == kNoNode) return;
  dirty_trees_.mark_dirty(state_.ledger.root(queue.node));
}

std::optional<Scheduler::Inactive> Scheduler::why_inactive(const std::string& cluster_queue) const {
  const QueueState* queue = find_queue(cluster_queue);
  if (queue == nullptr || queue->object == nullptr)
    return Inactive{"NotFound", "ClusterQueue " + cluster_queue + " does not exist"};
  QueueReadiness readiness =
      readiness_of(*queue->object, {.has_flavor =
                                        [&](const std::string& flavor) {
                                          const std::optional<FlavorId> id = state_.names.find_flavor(flavor);
                                          return id && state_.flavor(*id) != nullptr;
                                        },
                                    .check =
                                        [&](const std::string& name) {
                                          const auto check = checks_.find(name);
                                          if (check == checks_.end()) return CheckPresence::kMissing;
                                          return check->second ? CheckPresence::kActive : CheckPresence::kInactive;
                                        },
                                    .in_cohort_cycle = state_.ledger.root(queue->node) == kNoNode});
  if (readiness.ready) return std::nullopt;
  return Inactive{std::move(readiness.reason), std::move(readiness.message)};
}

// When a queue becomes inactive, its own reason applies to its Workloads: their earlier results are obsolete.
void Scheduler::refresh_activity() {
  state_.ledger.settle();
  for (const auto& [name, queue] : queues_) {
    const bool was_active = std::exchange(queue->active, !why_inactive(name));
    if (was_active && !queue->active) {
      for (const WorkloadState* waiting : queue->pending.list()) {
        const_cast<WorkloadState*>(waiting)->refusal.reset();
        left_.push_back(path_of(waiting->object->meta));
      }
    }
    if (queue->node != kNoNode) state_.ledger.set_scheduled(queue->node, queue->active);
  }
  state_.ledger.settle();
}

// Also Workloads that no release can help: the change can fix their invalid state, such as the labels of a
// namespace.
void Scheduler::wake_all(QueueState& queue, Timestamp now) {
  queue.pending.wake(now);
  for (const WorkloadState* waiting : queue.pending.list()) {
    if (waiting->place != WorkloadState::Place::kHeld) continue;
    WorkloadState& workload = const_cast<WorkloadState&>(*waiting);
    if (!namespace_matches(workload)) continue;
    queue.pending.remove(workload);
    enter_queue(workload, now);
  }
}

// Processes the effects of events; needs the time.
void Scheduler::prepare(Now clocks, bool only_what_it_helps) {
  const Timestamp now = to_timestamp(clocks.wall);
  const bool everything = std::exchange(structure_changed_, false);
  if (everything) {
    refresh_activity();
    dirty_trees_.clear();
    for (const auto& [name, queue] : queues_) {
      if (queue->node == kNoNode) continue;
      wake_all(*queue, now);
      mark_dirty(*queue);
    }
  }
  for (LocalQueueState* local : std::exchange(entering_, {})) {
    const std::vector<WorkloadState*> workloads = local->workloads;
    for (WorkloadState* workload : workloads) {
      if (workload->place == WorkloadState::Place::kNowhere) enter_queue(*workload, now);
    }
  }
  for (QueueState* queue : take_ended_protections(state_, clocks.monotonic)) {
    queue->pending.wake(now);
    mark_dirty(*queue);
  }
  // Quota that is released in a ClusterQueue can be borrowed in its whole tree (KEP-79).
  std::set<NodeId> roots;
  for (const QueueState* queue : std::exchange(released_, {})) {
    if (queue->node != kNoNode) roots.insert(state_.ledger.root(queue->node));
  }
  roots.erase(kNoNode);
  for (const NodeId root : roots) {
    dirty_trees_.mark_dirty(root);
    if (everything) continue;
    for (const NodeId node : state_.ledger.queues_of_tree(root)) {
      QueueState& queue = *state_.queue_at(node);
      if (only_what_it_helps && !std::exchange(queue.moved, false))
        queue.pending.wake_released(now);
      else
        queue.pending.wake(now);
    }
  }
}

void Scheduler::follow(Now now) {
  prepare(now, true);
}

std::optional<MonotonicTime> Scheduler::next_wake() const {
  if (state_.protection_ends.empty()) return std::nullopt;
  return state_.protection_ends.begin()->time;
}

bool Scheduler::namespace_matches(const WorkloadState& state) const {
  const auto labels = namespaces_.find(state.object->meta.ns);
  return labels != namespaces_.end() && state.queue->object->namespace_selector.matches(labels->second);
}

// In Kueue's order: of several reasons the first one is written.
std::optional<Invalid> Scheduler::why_invalid(const WorkloadState& state) const {
  if (has_failed_checks(*state.object))
    return Invalid{PendingReason::kPendingEvaluation, "The workload has failed admission checks", false};
  if (!namespace_matches(state))
    return Invalid{PendingReason::kMisconfigured, "workload namespace doesn't match ClusterQueue selector", true};
  // A Workload that muster cannot stop is never admitted, so it must not block a StrictFIFO queue.
  if (!state.misconfigured.empty())
    return Invalid{PendingReason::kMisconfigured, state.misconfigured, !state.can_be_stopped};
  return std::nullopt;
}

std::optional<Scheduler::Subject> Scheduler::subject() const {
  if (state_.subject == nullptr) return std::nullopt;
  const QueueState* queue = state_.subject->queue;
  return Subject{state_.subject->object, queue == nullptr ? "" : queue->name};
}

// At most one Workload of each ClusterQueue, so that no queue can use a whole cycle.
std::vector<Decision> Scheduler::turn(const std::vector<QueueState*>& queues, Now now, bool settle) {
  Cycle cycle(state_, now, settle);
  bool any = false;
  for (QueueState* queue : queues) {
    if (!queue->active) continue;
    if (settle) queue->pending.wake_first([&](QuotaId quota) { return state_.ledger.available(queue->node, quota); });
    WorkloadState* head = queue->pending.front();
    if (head == nullptr) continue;
    any = true;
    state_.subject = head;
    if (std::optional<Invalid> why = why_invalid(*head))
      cycle.add_invalid(*head, std::move(*why));
    else
      cycle.add(*head);
  }
  std::vector<Decision> decisions;
  if (any) {
    ++state_.cycle;
    decisions = cycle.run();
  }
  state_.subject = nullptr;
  if (settle) dirty_trees_.drop_quiescent(cycle.entries(), state_.ledger);
  return decisions;
}

void Scheduler::await_ready(const std::string& workload) {
  if (state_.awaited == workload) return;
  state_.awaited = workload;
  for (const auto& [name, queue] : queues_) {
    const WorkloadState* head = queue->active ? queue->pending.front() : nullptr;
    const LastAttempt* refusal = head == nullptr ? nullptr : head->refusal.get();
    if (refusal != nullptr && refusal->outcome == AttemptResult::kAwaitingReady) mark_dirty(*queue);
  }
}

std::vector<Decision> Scheduler::cycle(Now now) {
  prepare(now, false);
  std::vector<QueueState*> queues;
  for (const auto& [name, queue] : queues_) {
    if (queue->active) queues.push_back(queue.get());
  }
  return turn(queues, now, false);
}

std::vector<Decision> Scheduler::drain(Now now, size_t enough) {
  prepare(now, true);
  std::vector<Decision> all;
  size_t admitted = 0;
  while (admitted < enough && (!dirty_trees_.empty() || !deferred_releases_.empty())) {
    if (dirty_trees_.empty()) {
      released_.swap(deferred_releases_);
      prepare(now, true);
    }
    std::vector<QueueState*> queues;
    for (const NodeId root : dirty_trees_.roots()) {
      for (const NodeId node : state_.ledger.queues_of_tree(root)) queues.push_back(state_.queue_at(node));
    }
    if (queues.empty()) {
      dirty_trees_.clear();
      continue;
    }
    for (Decision& decision : turn(queues, now, true)) {
      if (std::holds_alternative<Admitted>(decision)) ++admitted;
      if (is_news(decision)) all.push_back(std::move(decision));
    }
  }
  tell_bypassed(all);
  return all;
}

// A Workload that was parked with its shape has no evaluation of its own. Its refusal is reported if its object has an
// obsolete reason or a pending evaluation.
void Scheduler::tell_bypassed(std::vector<Decision>& decisions) {
  for (auto it = unexplained_.begin(); it != unexplained_.end();) {
    const WorkloadState& waiting = *it->second;
    if (!waiting.in_queue()) {
      it = unexplained_.erase(it);
      continue;
    }
    const QueueState& queue = *waiting.queue;
    const bool bypassed = queue.active && waiting.place == WorkloadState::Place::kQueued &&
                          waiting.refusal == nullptr && !queue.pending.competes(waiting) &&
                          queue.pending.refused(waiting.shape);
    if (!bypassed) {
      ++it;
      continue;
    }
    const WorkloadState* evaluated = queue.pending.evaluated(waiting.shape);
    const PendingReason found = evaluated == nullptr ? PendingReason::kNone : evaluated->refusal->reason;
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

bool Scheduler::waits(const std::string& ns, const std::string& name) const {
  const WorkloadState* workload = find(ns, name);
  return workload != nullptr && workload->in_queue() && workload->queue->active;
}

std::vector<std::string> Scheduler::take_left() {
  return std::exchange(left_, {});
}

QueuePosition Scheduler::position_of(const std::string& ns, const std::string& name) const {
  const WorkloadState* workload = find(ns, name);
  if (workload == nullptr || !workload->in_queue()) return QueuePosition::kNowhere;
  return workload->queue->pending.competes(*workload) ? QueuePosition::kActive : QueuePosition::kInadmissible;
}

}  // namespace muster
