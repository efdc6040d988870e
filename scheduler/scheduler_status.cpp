// What queues show of themselves: counts, and usage per flavor.
#include <algorithm>

#include "scheduler/reservation.h"
#include "scheduler/scheduler.h"

namespace muster {
namespace {

using Place = WorkloadState::Place;

// Usage of every quota that the ClusterQueue has, also where it is nothing.
std::vector<FlavorUsage> flavors_of(const SchedulerState& state, const QueueState& queue,
                                    const std::vector<WorkloadState*>& workloads, bool only_admitted, bool borrowed) {
  std::vector<FlavorUsage> flavors;
  for (const QueueGroup& group : queue.groups) {
    for (const FlavorId flavor : group.flavors) {
      FlavorUsage& shown = flavors.emplace_back();
      shown.name = state.names.flavor_name(flavor);
      for (const ResourceId resource : group.resources) {
        int64_t total = 0, nominal = 0;
        for (const QuotaId quota : state.ledger.quotas(queue.node)) {
          const auto [its_flavor, its_resource] = state.names.quota(quota);
          if (its_flavor != flavor || its_resource != resource) continue;
          nominal = state.ledger.nominal(queue.node, quota);
          for (const WorkloadState* workload : workloads) {
            if (workload->queue != &queue || (only_admitted && !workload->object->admitted())) continue;
            for (const QuotaAmount& entry : workload->usage) {
              if (entry.quota == quota) total = saturating_add(total, entry.amount);
            }
          }
        }
        const std::string& name = state.names.resource_name(resource);
        shown.resources.push_back(
            {.name = name,
             .total = to_quantity(name, total),
             .borrowed = to_quantity(name, borrowed ? std::max<int64_t>(0, total - nominal) : 0)});
      }
    }
  }
  return flavors;
}

void count(const WorkloadState& workload, QueueStatus& status) {
  if (workload.place == Place::kReserved) {
    ++status.reserving_workloads;
    if (workload.object->admitted()) ++status.admitted_workloads;
  } else if (workload.in_queue()) {
    ++status.pending_workloads;
  }
}

}  // namespace

QueueStatus Scheduler::cluster_queue_status(const std::string& name) const {
  QueueStatus status;
  const QueueState* queue = find_queue(name);
  if (queue == nullptr || queue->object == nullptr) return status;
  for (const WorkloadState* workload : queue->reserved) count(*workload, status);
  status.pending_workloads = static_cast<int32_t>(queue->pending.active() + queue->pending.parked());
  status.flavors_reservation = flavors_of(state_, *queue, queue->reserved, false, true);
  status.flavors_usage = flavors_of(state_, *queue, queue->reserved, true, true);
  return status;
}

QueueStatus Scheduler::local_queue_status(const std::string& ns, const std::string& name) const {
  QueueStatus status;
  const auto it = local_queues_.find(ns + "/" + name);
  if (it == local_queues_.end()) return status;
  const LocalQueueState& local = *it->second;
  std::vector<WorkloadState*> reserved;
  for (WorkloadState* workload : local.workloads) {
    count(*workload, status);
    if (workload->place == Place::kReserved) reserved.push_back(workload);
  }
  if (local.queue == nullptr || local.queue->object == nullptr) return status;
  status.flavors_reservation = flavors_of(state_, *local.queue, reserved, false, false);
  status.flavors_usage = flavors_of(state_, *local.queue, reserved, true, false);
  return status;
}

int64_t Scheduler::usage_of(const std::string& cluster_queue, const std::string& flavor,
                            const std::string& resource) const {
  const QueueState* queue = find_queue(cluster_queue);
  if (queue == nullptr || queue->node == kNoNode) return 0;
  for (const QuotaId quota : state_.ledger.quotas(queue->node)) {
    const auto [its_flavor, its_resource] = state_.names.quota(quota);
    if (state_.names.flavor_name(its_flavor) == flavor && state_.names.resource_name(its_resource) == resource)
      return state_.ledger.usage(queue->node, quota);
  }
  return 0;
}

}  // namespace muster
