#include "reconcilers/queues/cluster_queue.h"

#include "api/workload.h"
#include "api/workload_conditions.h"
#include "reconcilers/in_use.h"
#include "reconcilers/queues/cohort.h"
#include "reconcilers/queues/queue_status.h"
#include "scheduler/queue_readiness.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/queue_readings.h"
#include "state/cohorts_above.h"
#include "state/index/indexes.h"
#include "state/scheduler_driver.h"

namespace muster::reconcilers {
namespace {

scheduler::QueueSurroundings surroundings_of(const ClusterQueue& queue, const state::ClusterState& state) {
  return {.has_flavor = [&state](const std::string& flavor) { return state.find<ResourceFlavor>(flavor) != nullptr; },
          .check =
              [&state](const std::string& name) {
                const AdmissionCheck* check = state.find<AdmissionCheck>(name);
                if (check == nullptr) return scheduler::CheckPresence::kMissing;
                return check->active() ? scheduler::CheckPresence::kActive : scheduler::CheckPresence::kInactive;
              },
          .in_cohort_cycle = state::cohorts_above(queue, state).cyclic};
}

int32_t pending_in(const ClusterQueue& queue, const state::ClusterState& state) {
  int32_t pending = 0;
  for (const LocalQueue* local : state.by(state::kLocalQueuesByClusterQueue, {"", queue.meta.name})) {
    if (local->stop_policy == StopPolicy::kNone)
      pending += state.queue_counts().of_local_queue(local->meta.ns, local->meta.name).pending;
  }
  return pending;
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  const state::ClusterState& state = context.state;
  const ClusterQueue* queue = state.find<ClusterQueue>(key.name);
  if (queue == nullptr) return plan;
  const state::QueueCounts& counts = state.queue_counts().of_cluster_queue(key.name);
  keep_in_use_finalizer(kClusterQueues, queue->meta, counts.reserving > 0, plan);
  if (!plan.writes.empty()) return plan;

  QueueStatus status = queue->status;
  status.pending_workloads = pending_in(*queue, state);
  show_counts(status, *queue, counts, true);
  status.weighted_share = std::nullopt;
  if (!context.queues().fair_sharing.empty())
    status.weighted_share = scheduler::share_of_cluster_queue(context.decisions.scheduler().state(), key.name);
  const scheduler::QueueReadiness readiness = scheduler::readiness_of(*queue, surroundings_of(*queue, state));
  set_active(status, queue->meta, readiness.ready, readiness.reason, readiness.message, context.now);
  write_queue_status(kClusterQueues, queue->meta, queue->status, status, plan);
  return plan;
}

void add_key(const std::string& name, std::vector<ObjectKey>& keys) {
  if (!name.empty()) keys.push_back({&kClusterQueues, "", name});
}

void add_all(const state::ClusterState& state, std::vector<ObjectKey>& keys) {
  state.for_each_of(kClusterQueues, [&](const TypedObject& queue) { keys.push_back(key_of(queue)); });
}

void requests_for(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (const auto* changed = std::get_if<ClusterQueuePtr>(&object)) {
    keys.push_back(key_of(object));
    // Quota that it lends is part of the shares of other ClusterQueues.
    if (!(*changed)->cohort.empty() && changes_quota(**changed, state)) add_all(state, keys);
  } else if (const auto* local_queue = std::get_if<LocalQueuePtr>(&object)) {
    add_key((*local_queue)->cluster_queue, keys);
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    if ((*workload)->status.admission) add_key((*workload)->status.admission->cluster_queue, keys);
    const LocalQueue* local = state.find<LocalQueue>((*workload)->meta.ns, (*workload)->queue_name);
    if (local != nullptr) add_key(local->cluster_queue, keys);
  } else if (std::holds_alternative<ResourceFlavorPtr>(object)) {
    for (const ClusterQueue* queue : state.by(state::kClusterQueuesByFlavor, {"", meta_of(object).name}))
      add_key(queue->meta.name, keys);
  } else if (std::holds_alternative<AdmissionCheckPtr>(object)) {
    for (const ClusterQueue* queue : state.by(state::kClusterQueuesByCheck, {"", meta_of(object).name}))
      add_key(queue->meta.name, keys);
  } else if (const auto* cohort = std::get_if<CohortPtr>(&object)) {
    // It can be anywhere above any of them. Its share changes often, and is no news.
    if (changes_quota(**cohort, state)) add_all(state, keys);
  }
}

constexpr const ResourceType* kKinds[] = {&kClusterQueues};

}  // namespace

const Reconciler cluster_queue_reconciler = {
    .name = "cluster_queue", .kinds = kKinds, .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
