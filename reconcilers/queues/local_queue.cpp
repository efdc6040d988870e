#include "reconcilers/queues/local_queue.h"

#include "api/workload.h"
#include "api/workload_conditions.h"
#include "reconcilers/queues/queue_status.h"
#include "scheduler/queue_readiness.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

scheduler::QueueReadiness readiness_of(const LocalQueue& queue, const ClusterQueue* cluster_queue) {
  const std::string closed = "Can't submit new workloads to clusterQueue";
  if (queue.stop_policy != StopPolicy::kNone) return {false, std::string(kStoppedReason), "LocalQueue is stopped"};
  if (cluster_queue == nullptr) return {false, std::string(kClusterQueueDoesNotExistReason), closed};
  // The ClusterQueue's own reconciler knows the reason. A queue without a condition is not open yet.
  if (!condition_is_true(cluster_queue->status.conditions, kActiveCondition))
    return {false, std::string(kClusterQueueInactiveReason), closed};
  return {true, std::string(kReadyReason), "Can submit new workloads to localQueue"};
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const state::ClusterState& state = context.state;
  const LocalQueue* queue = state.find<LocalQueue>(key.ns, key.name);
  if (queue == nullptr || queue->meta.deleting) return plan;
  const ClusterQueue* cluster_queue = state.find<ClusterQueue>(queue->cluster_queue);
  const state::QueueCounts& counts = state.queue_counts().of_local_queue(key.ns, key.name);

  QueueStatus status = queue->status;
  status.pending_workloads = queue->stop_policy == StopPolicy::kNone ? counts.pending : 0;
  // Without a ClusterQueue no usage can be counted.
  show_counts(status, cluster_queue == nullptr ? ClusterQueue() : *cluster_queue,
              cluster_queue == nullptr ? state::QueueCounts() : counts, false);
  const scheduler::QueueReadiness readiness = readiness_of(*queue, cluster_queue);
  set_active(status, queue->meta, readiness.ready, readiness.reason, readiness.message, context.now);
  write_queue_status(kLocalQueues, queue->meta, queue->status, status, plan);
  return plan;
}

// Values of the ClusterQueue in the status of a LocalQueue.
bool shows_the_same(const ClusterQueue& a, const ClusterQueue& b) {
  const bool same_state = condition_is_true(a.status.conditions, kActiveCondition) ==
                          condition_is_true(b.status.conditions, kActiveCondition);
  return same_state && a.meta.generation == b.meta.generation;
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<LocalQueuePtr>(object)) {
    keys.push_back(key_of(object));
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    keys.push_back({&kLocalQueues, (*workload)->meta.ns, (*workload)->queue_name});
  } else if (const auto* cluster_queue = std::get_if<ClusterQueuePtr>(&object)) {
    const ClusterQueue& queue = **cluster_queue;
    const ClusterQueue* present = state.find<ClusterQueue>(queue.meta.name);
    // Counts that others have changed are no news.
    if (present != nullptr && present != &queue && shows_the_same(queue, *present)) return;
    if (present == &queue && find_condition(queue.status.conditions, kActiveCondition) != nullptr) return;
    for (const LocalQueue* local : state.by(state::kLocalQueuesByClusterQueue, {"", queue.meta.name}))
      keys.push_back(key_of(kLocalQueues, local->meta));
  }
}

constexpr const ResourceType* kKinds[] = {&kLocalQueues};

}  // namespace

const Reconciler local_queue_reconciler = {
    .name = "local_queue", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
