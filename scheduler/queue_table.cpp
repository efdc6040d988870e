#include "scheduler/queue_table.h"

#include <utility>

#include "api/requests.h"
#include "scheduler/preemption/protection.h"

namespace muster::scheduler {
namespace {

// Only the status differs: the API server increments the generation for all other changes.
bool same_spec(const ObjectMeta& a, const ObjectMeta& b) {
  return a.uid == b.uid && a.generation == b.generation && a.generation != 0 && a.deleting == b.deleting;
}

}  // namespace

// A LocalQueue or a Workload can name a ClusterQueue that does not exist (yet). Such a queue has state, but no node in
// the ledger and no quota.
QueueState& QueueTable::cluster_queue(const std::string& name) {
  std::unique_ptr<QueueState>& slot = state_.queues[name];
  if (!slot) {
    slot = std::make_unique<QueueState>();
    slot->name = name;
  }
  return *slot;
}

// A Workload can be listed before its LocalQueue, so the state of a queue begins with the first name.
LocalQueueState& QueueTable::local_queue(const std::string& key) {
  std::unique_ptr<LocalQueueState>& slot = state_.local_queues[key];
  if (!slot) {
    slot = std::make_unique<LocalQueueState>();
    slot->key = key;
  }
  return *slot;
}

void QueueTable::drop_if_unused(QueueState& queue) {
  // Workloads can hold quota of a deleted ClusterQueue until their jobs have stopped.
  if (queue.object != nullptr || !queue.local_queues.empty() || !queue.reserved.empty()) return;
  wake_.forget(queue);
  forget_protection_end(state_, queue);
  state_.queues.erase(std::string(queue.name));
}

void QueueTable::drop_if_unused(LocalQueueState& local) {
  // Its Workloads point to it, and wait here until the LocalQueue is created again.
  if (local.object != nullptr || !local.workloads.empty()) return;
  wake_.forget(local);
  state_.local_queues.erase(std::string(local.key));
}

// Of flavors that do not exist as well: the limits count as soon as the ResourceFlavor is created.
std::vector<QuotaLimits> QueueTable::limits_of(const std::vector<ResourceGroup>& groups) {
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

void QueueTable::read_groups(QueueState& queue) {
  queue.groups.clear();
  for (const ResourceGroup& group : queue.object->resource_groups) {
    QueueGroup& made = queue.groups.emplace_back();
    for (const std::string& resource : group.covered_resources)
      made.resources.push_back(state_.names.resource(resource));
    for (const FlavorQuotas& flavor : group.flavors) made.flavors.push_back(state_.names.flavor(flavor.name));
  }
  // As in Kueue, pods are counted only where the ClusterQueue has quota for the resource "pods".
  queue.covers_pods = queue.group_of(state_.pods) != nullptr;
  state_.flavors.resize(state_.names.flavor_count());
}

bool QueueTable::set_object(QueueState& queue, const ClusterQueuePtr& object) {
  const ClusterQueuePtr before = std::exchange(queue.object, object);
  // Annotations change no generation.
  if (before != nullptr && same_spec(before->meta, object->meta) && before->protection == object->protection)
    return false;
  if (before == nullptr) {
    queue.node = state_.capacity.tree().add_queue();
    if (state_.node_queue.size() <= static_cast<size_t>(queue.node)) state_.node_queue.resize(queue.node + 1);
    state_.node_queue[queue.node] = &queue;
  }
  read_groups(queue);
  state_.capacity.tree().set_queue(queue.node, object->cohort, limits_of(object->resource_groups),
                                   object->fair_weight ? object->fair_weight->approximate() : 1.0);
  if (before == nullptr) {
    // Workloads with quota that came before their queue: after a restart, kinds are listed in any order.
    for (const WorkloadState* workload : queue.reserved)
      state_.capacity.tree().add(queue.node, workload->holding().claim.quota);
  }
  // Scans of flavors that were begun for the last version start again (KEP-582).
  ++queue.generation;
  return true;
}

// What its Workloads hold is no longer in the ledger. They keep it in their own state, for the case that the queue
// comes back.
void QueueTable::unset_object(QueueState& queue) {
  forget_protection_end(state_, queue);
  state_.capacity.tree().remove_queue(queue.node);
  state_.node_queue[queue.node] = nullptr;
  queue.node = kNoNode;
  queue.object = nullptr;
  queue.active = false;
  drop_if_unused(queue);
}

// false: only its status has changed, so no tree is computed again and no Workload is woken.
bool QueueTable::set_cohort(const CohortPtr& cohort) {
  const CohortPtr before = std::exchange(cohorts_[cohort->meta.name], cohort);
  if (before != nullptr && same_spec(before->meta, cohort->meta)) return false;
  state_.capacity.tree().set_cohort(cohort->meta.name, cohort->parent, limits_of(cohort->resource_groups),
                                    cohort->fair_weight ? cohort->fair_weight->approximate() : 1.0);
  return true;
}

// ClusterQueues and Cohorts that still name it form a Cohort without its own quota (KEP-79).
void QueueTable::unset_cohort(const std::string& name) {
  cohorts_.erase(name);
  state_.capacity.tree().remove_cohort(name);
}

FlavorState& QueueTable::flavor(const std::string& name) {
  const FlavorId id = state_.names.flavor(name);
  state_.flavors.resize(state_.names.flavor_count());
  return state_.flavors[id];
}

// true: labels or taints can differ, so Workloads that it did not suit are evaluated again.
bool QueueTable::set_flavor(const ResourceFlavorPtr& object) {
  const ResourceFlavorPtr before = std::exchange(flavor(object->meta.name).object, object);
  return before == nullptr || !same_spec(before->meta, object->meta) || before->fits_on_nodes != object->fits_on_nodes;
}

void QueueTable::unset_flavor(const std::string& name) {
  flavor(name).object = nullptr;
}

void QueueTable::point(LocalQueueState& local, QueueState* queue) {
  if (local.queue == queue) return;
  QueueState* before = std::exchange(local.queue, queue);
  if (before != nullptr) {
    std::erase(before->local_queues, &local);
    drop_if_unused(*before);
  }
  if (queue != nullptr) queue->local_queues.push_back(&local);
}

}  // namespace muster::scheduler
