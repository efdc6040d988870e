#include "scheduler/scheduler.h"

#include <utility>

#include "scheduler/cycle.h"
#include "scheduler/eligibility.h"
#include "scheduler/preemption/protection.h"

namespace muster::scheduler {
namespace {

// A refusal that repeats the last one changes no condition. The eviction of an awaited victim is under way already.
bool is_news(const Decision& decision) {
  const auto* pending = std::get_if<Pending>(&decision);
  return pending == nullptr ? !std::holds_alternative<AwaitedVictim>(decision) : pending->changed;
}

}  // namespace

Scheduler::Scheduler(SchedulerSettings settings, FurtherCapacities further)
    : state_(std::move(settings), std::move(further)) {}
Scheduler::~Scheduler() = default;

void Scheduler::put(const ClusterQueuePtr& object) {
  QueueState& queue = queues_.cluster_queue(object->meta.name);
  const bool known = queue.object != nullptr;
  if (!queues_.set_object(queue, object)) return;
  // Workloads of LocalQueues that named the ClusterQueue before it existed.
  if (!known) {
    for (LocalQueueState* local : queue.local_queues) point_local_queue(*local, &queue);
  }
  wake_.structure_changed();
}

// Pending Workloads leave the queue. Those that hold quota keep it until their objects show that it is released.
void Scheduler::remove_cluster_queue(const std::string& name) {
  const auto it = state_.queues.find(name);
  if (it == state_.queues.end() || it->second->object == nullptr) return;
  QueueState& queue = *it->second;
  for (const LocalQueueState* local : queue.local_queues) workloads_.leave_all(*local);
  wake_.structure_changed();
  queues_.unset_object(queue);
}

// All pending Workloads of the LocalQueue move with it. Whether they can enter depends on the time, which the next turn
// has.
void Scheduler::point_local_queue(LocalQueueState& local, QueueState* queue) {
  workloads_.leave_all(local);
  queues_.point(local, queue);
  wake_.entering(local);
}

void Scheduler::put(const LocalQueuePtr& object) {
  LocalQueueState& local = queues_.local_queue(path_of(object->meta));
  const LocalQueuePtr before = std::exchange(local.object, object);
  // muster writes the counts in the status often; they mean nothing here.
  if (before != nullptr && before->meta.uid == object->meta.uid && before->cluster_queue == object->cluster_queue &&
      before->stop_policy == object->stop_policy)
    return;
  point_local_queue(local, &queues_.cluster_queue(object->cluster_queue));
}

void Scheduler::remove_local_queue(const std::string& ns, const std::string& name) {
  const auto it = state_.local_queues.find(muster::path_of(ns, name));
  if (it == state_.local_queues.end() || it->second->object == nullptr) return;
  it->second->object = nullptr;
  point_local_queue(*it->second, nullptr);
  queues_.drop_if_unused(*it->second);
}

void Scheduler::put(const CohortPtr& cohort) {
  if (queues_.set_cohort(cohort)) wake_.structure_changed();
}

void Scheduler::remove_cohort(const std::string& name) {
  queues_.unset_cohort(name);
  wake_.structure_changed();
}

void Scheduler::put(const ResourceFlavorPtr& flavor) {
  if (queues_.set_flavor(flavor)) wake_.structure_changed();
}

void Scheduler::remove_resource_flavor(const std::string& name) {
  queues_.unset_flavor(name);
  wake_.structure_changed();
}

// A ClusterQueue is inactive while one of its checks is missing or inactive (KEP-993).
void Scheduler::put(const AdmissionCheckPtr& check) {
  const bool active = check->active();
  const auto [it, added] = state_.checks.try_emplace(check->meta.name, active);
  if (!added && std::exchange(it->second, active) == active) return;
  wake_.structure_changed();
}

void Scheduler::remove_admission_check(const std::string& name) {
  if (state_.checks.erase(name) > 0) wake_.structure_changed();
}

void Scheduler::put(const PriorityClassPtr& priority_class) {
  if (priority_class->for_pods) return;
  const PreemptionProtection& protection = priority_class->protection;
  if (protection == PreemptionProtection{}) return remove_workload_priority_class(priority_class->meta.name);
  const auto [known, added] = state_.class_protection.try_emplace(priority_class->meta.name, protection);
  if (!added && known->second == protection) return;
  known->second = protection;
  wake_.structure_changed();
}

void Scheduler::remove_workload_priority_class(const std::string& name) {
  if (state_.class_protection.erase(name) > 0) wake_.structure_changed();
}

// For the namespaceSelector of ClusterQueues.
void Scheduler::put_namespace(const std::string& name, Labels labels) {
  const auto it = state_.namespaces.find(name);
  if (it != state_.namespaces.end() && it->second == labels) return;
  state_.namespaces.insert_or_assign(name, std::move(labels));
  wake_.structure_changed();
}

void Scheduler::remove_namespace(const std::string& name) {
  if (state_.namespaces.erase(name) > 0) wake_.structure_changed();
}

// The first settle() finds cycles of Cohorts, which make queues inactive. The second one leaves inactive queues out of
// the heights of their Cohorts, by which nearer quota is preferred.
void Scheduler::refresh_activity() {
  state_.capacity.tree().settle();
  for (const auto& [name, queue] : state_.queues) {
    const bool was_active = std::exchange(queue->active, !why_inactive(state_, name));
    if (was_active && !queue->active) workloads_.forget_results(*queue);
    if (queue->node != kNoNode) state_.capacity.tree().set_scheduled(queue->node, queue->active);
  }
  state_.capacity.tree().settle();
}

// Processes the effects of events; needs the time.
void Scheduler::prepare(Now clocks, bool only_what_it_helps) {
  const Timestamp now = to_timestamp(clocks.wall);
  const bool everything = wake_.take_structure_change();
  if (everything) {
    // The ids of roots can be others now.
    refresh_activity();
    wake_.trees().clear();
    for (const auto& [name, queue] : state_.queues) {
      if (queue->node == kNoNode) continue;
      workloads_.wake_all(*queue, now);
      wake_.mark_dirty(*queue);
    }
  }
  for (const LocalQueueState* local : wake_.take_entering()) workloads_.enter_all(*local, now);
  for (QueueState* queue : take_ended_protections(state_, clocks.monotonic)) {
    // A Workload that was spared can be preempted from now on.
    queue->pending.wake(now);
    wake_.mark_dirty(*queue);
  }
  // A further capacity belongs to no tree: any pending Workload can wait for what was released.
  if (wake_.take_further_release()) {
    for (const auto& [name, queue] : state_.queues) wake_.released(*queue, true);
  }
  for (const NodeId root : wake_.take_released_trees()) {
    // All of its Workloads compete already.
    if (everything) continue;
    for (const NodeId node : state_.ledger.queues_of_tree(root)) {
      QueueState& queue = *state_.queue_at(node);
      // Where preemption is possible, another set of holders means other victims: a Workload that no free quota helps
      // can find some now. Without that, only free quota helps.
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
    if (settle) queue->pending.wake_first([&](CapacityKey key) { return state_.capacity.available(queue->node, key); });
    WorkloadState* head = queue->pending.front();
    if (head == nullptr) continue;
    any = true;
    // For subject(), should the evaluation throw.
    state_.subject = head;
    if (std::optional<Invalid> why = why_invalid(state_, *head))
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
  if (settle) wake_.trees().drop_quiescent(cycle.entries(), state_.ledger);
  return decisions;
}

void Scheduler::await_ready(const std::string& workload) {
  if (state_.awaited == workload) return;
  state_.awaited = workload;
  // Only heads that the block has held can go on now. All others were refused for their own reasons.
  for (const auto& [name, queue] : state_.queues) {
    const WorkloadState* head = queue->active ? queue->pending.front() : nullptr;
    const LastAttempt* refusal = head == nullptr ? nullptr : head->waiting().refusal.get();
    if (refusal != nullptr && refusal->outcome == AttemptResult::kAwaitingReady) wake_.mark_dirty(*queue);
  }
}

// Kueue's cycle, which recorded vectors are compared with: one head of every ClusterQueue.
std::vector<Decision> Scheduler::cycle(Now now) {
  prepare(now, false);
  std::vector<QueueState*> queues;
  for (const auto& [name, queue] : state_.queues) {
    if (queue->active) queues.push_back(queue.get());
  }
  return turn(queues, now, false);
}

std::vector<Decision> Scheduler::drain(Now now, size_t enough) {
  prepare(now, true);
  std::vector<Decision> all;
  size_t admitted = 0;
  while (admitted < enough && (!wake_.trees().empty() || wake_.has_deferred_releases())) {
    // Kueue forgets releases by Workloads of stopped queues. They come last, so that all decisions before them are
    // Kueue's.
    if (wake_.trees().empty()) {
      wake_.release_deferred();
      prepare(now, true);
    }
    std::vector<QueueState*> queues;
    for (const NodeId root : wake_.trees().roots()) {
      for (const NodeId node : state_.ledger.queues_of_tree(root)) queues.push_back(state_.queue_at(node));
    }
    // Trees of Cohorts without a ClusterQueue.
    if (queues.empty()) {
      wake_.trees().clear();
      continue;
    }
    for (Decision& decision : turn(queues, now, true)) {
      if (std::holds_alternative<Admitted>(decision)) ++admitted;
      if (is_news(decision)) all.push_back(std::move(decision));
    }
  }
  workloads_.report_bypassed(all);
  return all;
}

}  // namespace muster::scheduler
