#include "scheduler/scheduler.h"

#include <algorithm>

#include "scheduler/preemption/protection.h"
#include "scheduler/reservation.h"

namespace muster {
namespace {

// Only the status differs: the API server increments the generation for all other changes.
bool same_spec(const ObjectMeta& a, const ObjectMeta& b) {
  return a.uid == b.uid && a.generation == b.generation && a.generation != 0 && a.deleting == b.deleting;
}

}  // namespace

Scheduler::Scheduler(SchedulerSettings settings) : state_(std::move(settings)) {}
Scheduler::~Scheduler() = default;

QueueState& Scheduler::queue_named(const std::string& name) {
  std::unique_ptr<QueueState>& slot = queues_[name];
  if (!slot) {
    slot = std::make_unique<QueueState>();
    slot->name = name;
  }
  return *slot;
}

const QueueState* Scheduler::find_queue(const std::string& name) const {
  const auto it = queues_.find(name);
  return it == queues_.end() ? nullptr : it->second.get();
}

LocalQueueState& Scheduler::local_queue_named(const std::string& key) {
  std::unique_ptr<LocalQueueState>& slot = local_queues_[key];
  if (!slot) {
    slot = std::make_unique<LocalQueueState>();
    slot->key = key;
  }
  return *slot;
}

WorkloadState* Scheduler::find(const std::string& ns, const std::string& name) const {
  const auto it = workloads_.find(path_of(ns, name));
  return it == workloads_.end() ? nullptr : it->second.get();
}

std::vector<QuotaLimits> Scheduler::limits_of(const std::vector<ResourceGroup>& groups) {
  std::vector<QuotaLimits> limits;
  for (const ResourceGroup& group : groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      for (const ResourceQuota& quota : flavor.resources) {
        const auto limit = [&](const std::optional<Quantity>& quantity) {
          return quantity ? to_amount(quota.name, *quantity) : kUnlimited;
        };
        limits.push_back(
            {.quota = state_.names.quota(state_.names.flavor(flavor.name), state_.names.resource(quota.name)),
             .nominal = to_amount(quota.name, quota.nominal),
             .borrowing = limit(quota.borrowing_limit),
             .lending = limit(quota.lending_limit)});
      }
    }
  }
  return limits;
}

void Scheduler::read_groups(QueueState& queue) {
  queue.groups.clear();
  for (const ResourceGroup& group : queue.object->resource_groups) {
    QueueGroup& made = queue.groups.emplace_back();
    for (const std::string& resource : group.covered_resources)
      made.resources.push_back(state_.names.resource(resource));
    for (const FlavorQuotas& flavor : group.flavors) made.flavors.push_back(state_.names.flavor(flavor.name));
  }
  queue.covers_pods = queue.group_of(state_.pods) != nullptr;
  state_.flavors.resize(state_.names.flavor_count());
}

void Scheduler::put(const ClusterQueuePtr& object) {
  QueueState& queue = queue_named(object->meta.name);
  const bool known = queue.object != nullptr;
  // Annotations change no generation.
  if (known && same_spec(queue.object->meta, object->meta) && queue.object->protection == object->protection) {
    queue.object = object;
    return;
  }
  queue.object = object;
  if (!known) {
    queue.node = state_.ledger.add_queue();
    if (state_.node_queue.size() <= static_cast<size_t>(queue.node)) state_.node_queue.resize(queue.node + 1);
    state_.node_queue[queue.node] = &queue;
  }
  read_groups(queue);
  state_.ledger.set_queue(queue.node, object->cohort, limits_of(object->resource_groups),
                          object->fair_weight ? object->fair_weight->approximate() : 1.0);
  if (!known) {
    for (const WorkloadState* workload : queue.reserved) state_.ledger.add(queue.node, workload->usage);
    for (LocalQueueState* local : queue.local_queues) point_local_queue(*local, &queue);
  }
  ++queue.generation;
  structure_changed();
}

void Scheduler::remove_cluster_queue(const std::string& name) {
  const auto it = queues_.find(name);
  if (it == queues_.end() || it->second->object == nullptr) return;
  QueueState& queue = *it->second;
  for (const LocalQueueState* local : queue.local_queues) {
    for (WorkloadState* workload : local->workloads) {
      if (workload->in_queue()) leave(*workload);
    }
  }
  forget_protection_end(state_, queue);
  state_.ledger.remove_queue(queue.node);
  state_.node_queue[queue.node] = nullptr;
  queue.node = kNoNode;
  queue.object = nullptr;
  queue.active = false;
  structure_changed();
  drop_if_unused(queue);
}

void Scheduler::drop_if_unused(QueueState& queue) {
  if (queue.object != nullptr || !queue.local_queues.empty() || !queue.reserved.empty()) return;
  released_.erase(&queue);
  deferred_releases_.erase(&queue);
  forget_protection_end(state_, queue);
  queues_.erase(std::string(queue.name));
}

void Scheduler::drop_if_unused(LocalQueueState& local) {
  if (local.object != nullptr || !local.workloads.empty()) return;
  entering_.erase(&local);
  local_queues_.erase(std::string(local.key));
}

// All pending Workloads of the LocalQueue move with it.
void Scheduler::point_local_queue(LocalQueueState& local, QueueState* queue) {
  for (WorkloadState* workload : local.workloads) {
    if (workload->in_queue()) leave(*workload);
  }
  if (local.queue != queue) {
    QueueState* before = std::exchange(local.queue, queue);
    if (before != nullptr) {
      std::erase(before->local_queues, &local);
      drop_if_unused(*before);
    }
    if (queue != nullptr) queue->local_queues.push_back(&local);
  }
  // Whether a Workload can enter depends on the time, which the next turn has.
  entering_.insert(&local);
}

void Scheduler::put(const LocalQueuePtr& object) {
  LocalQueueState& local = local_queue_named(path_of(object->meta));
  const LocalQueuePtr before = std::exchange(local.object, object);
  if (before != nullptr && before->meta.uid == object->meta.uid && before->cluster_queue == object->cluster_queue &&
      before->stop_policy == object->stop_policy)
    return;
  point_local_queue(local, &queue_named(object->cluster_queue));
}

void Scheduler::remove_local_queue(const std::string& ns, const std::string& name) {
  const auto it = local_queues_.find(path_of(ns, name));
  if (it == local_queues_.end() || it->second->object == nullptr) return;
  it->second->object = nullptr;
  point_local_queue(*it->second, nullptr);
  drop_if_unused(*it->second);
}

void Scheduler::put(const CohortPtr& cohort) {
  const CohortPtr before = std::exchange(cohorts_[cohort->meta.name], cohort);
  if (before != nullptr && same_spec(before->meta, cohort->meta)) return;
  state_.ledger.set_cohort(cohort->meta.name, cohort->parent, limits_of(cohort->resource_groups),
                           cohort->fair_weight ? cohort->fair_weight->approximate() : 1.0);
  structure_changed();
}

void Scheduler::remove_cohort(const std::string& name) {
  cohorts_.erase(name);
  state_.ledger.remove_cohort(name);
  structure_changed();
}

void Scheduler::put(const ResourceFlavorPtr& flavor) {
  const FlavorId id = state_.names.flavor(flavor->meta.name);
  state_.flavors.resize(state_.names.flavor_count());
  const ResourceFlavorPtr before = std::exchange(state_.flavors[id].object, flavor);
  if (before == nullptr || !same_spec(before->meta, flavor->meta)) structure_changed();
}

void Scheduler::remove_resource_flavor(const std::string& name) {
  const FlavorId id = state_.names.flavor(name);
  state_.flavors.resize(state_.names.flavor_count());
  state_.flavors[id].object = nullptr;
  structure_changed();
}

void Scheduler::put(const AdmissionCheckPtr& check) {
  const bool active = check->active();
  const auto [it, added] = checks_.try_emplace(check->meta.name, active);
  if (!added && std::exchange(it->second, active) == active) return;
  structure_changed();
}

void Scheduler::remove_admission_check(const std::string& name) {
  if (checks_.erase(name) > 0) structure_changed();
}

void Scheduler::put(const PriorityClassPtr& priority_class) {
  if (priority_class->for_pods) return;
  const PreemptionProtection& protection = priority_class->protection;
  if (protection == PreemptionProtection{}) return remove_workload_priority_class(priority_class->meta.name);
  const auto [known, added] = state_.class_protection.try_emplace(priority_class->meta.name, protection);
  if (!added && known->second == protection) return;
  known->second = protection;
  structure_changed();
}

void Scheduler::remove_workload_priority_class(const std::string& name) {
  if (state_.class_protection.erase(name) > 0) structure_changed();
}

void Scheduler::put_namespace(const std::string& name, Labels labels) {
  const auto it = namespaces_.find(name);
  if (it != namespaces_.end() && it->second == labels) return;
  namespaces_.insert_or_assign(name, std::move(labels));
  structure_changed();
}

void Scheduler::remove_namespace(const std::string& name) {
  if (namespaces_.erase(name) > 0) structure_changed();
}

}  // namespace muster
