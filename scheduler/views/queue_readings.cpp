#include "scheduler/views/queue_readings.h"

#include <cmath>
#include <limits>

#include "scheduler/preemption/fair_sharing.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

// Without a root (a cycle of Cohorts) a share has no denominator, and is 0.
TreeReading tree_of(const SchedulerState& state, NodeId node) {
  const Ledger& ledger = state.ledger;
  const NodeId parent = ledger.parent(node), root = ledger.root(node);
  return {.parent = parent == kNoNode ? "" : ledger.name(parent),
          .root = root == kNoNode ? "" : ledger.name(root),
          .share = root == kNoNode ? 0 : dominant_share(state.names, ledger, node).weighted()};
}

// Values above 2^62 count as unlimited: such a double can be out of range.
int64_t whole_share(double share) {
  constexpr double kLargest = 4.6e18;
  return share < kLargest ? static_cast<int64_t>(std::ceil(share)) : std::numeric_limits<int64_t>::max();
}

// Resources that the ClusterQueue has no quota for are in no series.
void add_requests(const SchedulerState& state, const WorkloadState& workload, Requests& sum) {
  const auto add_one = [&](ResourceId resource, int64_t amount) {
    const auto entry = sum.find(state.names.resource_name(resource));
    if (entry != sum.end()) entry->second = saturating_add(entry->second, amount);
  };
  for (const PodSetState& pod_set : workload.pod_sets) {
    for (const ResourceAmount& each : pod_set.per_pod)
      add_one(each.resource, saturating_multiply(each.amount, pod_set.count));
    if (workload.queue->covers_pods) add_one(state.pods, pod_set.count);
  }
}

// All resources of each ClusterQueue, with zero.
Requests zeros_of(const SchedulerState& state, const QueueState& queue) {
  Requests zeros;
  for (const QueueGroup& group : queue.groups) {
    for (const ResourceId resource : group.resources) zeros[state.names.resource_name(resource)] = 0;
  }
  return zeros;
}

bool was_skipped_preemptor(const WorkloadState& workload) {
  const LastAttempt* refusal = workload.waiting().refusal.get();
  return refusal != nullptr && refusal->outcome == AttemptResult::kSkipped && refusal->victims > 0;
}

// All Workloads of an inactive queue are inadmissible, as in Kueue.
void add_pending(PendingReading& pending, const QueueState& queue, size_t active, size_t parked) {
  pending.active += queue.active ? static_cast<int32_t>(active) : 0;
  pending.inadmissible += static_cast<int32_t>(queue.active ? parked : active + parked);
}

}  // namespace

int64_t share_of_cluster_queue(const SchedulerState& state, const std::string& name) {
  const auto queue = state.queues.find(name);
  if (queue == state.queues.end() || queue->second->object == nullptr) return 0;
  return whole_share(tree_of(state, queue->second->node).share);
}

int64_t share_of_cohort(const SchedulerState& state, const std::string& name) {
  const auto cohort = state.ledger.cohorts().find(name);
  return cohort == state.ledger.cohorts().end() ? 0 : whole_share(tree_of(state, cohort->second).share);
}

QueueReadings readings_of(const SchedulerState& state, bool with_requests) {
  QueueReadings readings;
  std::unordered_map<NodeId, Requests> requested;
  std::unordered_map<NodeId, int32_t> skipped;
  for (const auto& [key, local] : state.local_queues) {
    LocalQueueReading& reading = readings.local_queues.emplace_back(LocalQueueReading{key, {}});
    for (const WorkloadState* workload : local->workloads) {
      if (!workload->in_queue()) continue;
      // One that is held back counts as inadmissible, as in Kueue.
      const bool competes = workload->queue->pending.competes(*workload);
      add_pending(reading.pending, *workload->queue, competes ? 1 : 0, competes ? 0 : 1);
      if (was_skipped_preemptor(*workload)) ++skipped[workload->queue->node];
      if (!with_requests || workload->queue->object == nullptr) continue;
      const NodeId node = workload->queue->node;
      auto sum = requested.find(node);
      if (sum == requested.end()) sum = requested.emplace(node, zeros_of(state, *workload->queue)).first;
      add_requests(state, *workload, sum->second);
    }
  }
  for (const auto& [name, queue] : state.queues) {
    if (queue->object == nullptr) continue;
    ClusterQueueReading& reading = readings.cluster_queues.emplace_back(
        ClusterQueueReading{.name = name, .active = queue->active, .pending = {}, .tree = tree_of(state, queue->node)});
    add_pending(reading.pending, *queue, queue->pending.active(), queue->pending.parked());
    if (const auto skips = skipped.find(queue->node); skips != skipped.end()) reading.preemption_skips = skips->second;
    if (!with_requests) continue;
    const auto sum = requested.find(queue->node);
    reading.requested = sum == requested.end() ? zeros_of(state, *queue) : std::move(sum->second);
  }
  for (const auto& [name, node] : state.ledger.cohorts()) {
    CohortReading& reading = readings.cohorts.emplace_back(CohortReading{.name = name, .tree = tree_of(state, node)});
    for (const QuotaId quota : state.ledger.quotas(node)) {
      const auto [flavor, resource] = state.names.quota(quota);
      reading.subtree.push_back({.flavor = state.names.flavor_name(flavor),
                                 .resource = state.names.resource_name(resource),
                                 .amount = state.ledger.subtree_quota(node, quota)});
    }
  }
  return readings;
}

}  // namespace muster::scheduler
