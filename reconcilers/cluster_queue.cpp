#include "reconcilers/cluster_queue.h"

#include <algorithm>
#include <set>

#include "api/workload_conditions.h"
#include "reconcilers/in_use.h"
#include "reconcilers/queue_status.h"

namespace muster {
namespace {

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ",").append(name);
  return text;
}

std::vector<std::string> missing_flavors(const ClusterQueue& queue, const ClusterState& state) {
  std::vector<std::string> missing;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      if (state.resource_flavor(flavor.name) == nullptr) missing.push_back(flavor.name);
    }
  }
  return missing;
}

// Sorted by name.
std::vector<std::string> checks_where(const ClusterQueue& queue, bool (*wanted)(const AdmissionCheck*),
                                      const ClusterState& state) {
  std::set<std::string> names;
  for (const AdmissionCheckRule& rule : queue.admission_checks) {
    if (wanted(state.admission_check(rule.name))) names.insert(rule.name);
  }
  return {names.begin(), names.end()};
}

int32_t pending_in(const ClusterQueue& queue, const ClusterState& state) {
  int32_t pending = 0;
  for (const LocalQueue* local : state.local_queues_of(queue.meta.name)) {
    if (local->stop_policy == StopPolicy::kNone)
      pending += state.queue_counts().of_local_queue(local->meta.ns, local->meta.name).pending;
  }
  return pending;
}

Plan reconcile(const ObjectKey& key, const ClusterState& state, const ReconcilerSettings&, Now now) {
  Plan plan;
  if (key.type->plural != kClusterQueues.plural) return plan;
  const ClusterQueue* queue = state.cluster_queue(key.name);
  if (queue == nullptr) return plan;
  const QueueCounts& counts = state.queue_counts().of_cluster_queue(key.name);
  keep_in_use_finalizer(kClusterQueues, queue->meta, counts.reserving > 0, plan);
  if (!plan.writes.empty()) return plan;

  QueueStatus status = queue->status;
  status.pending_workloads = pending_in(*queue, state);
  show_counts(status, *queue, counts, true);
  QueueReadiness readiness = readiness_of(*queue, state);
  set_active(status, queue->meta, readiness.ready, std::move(readiness.reason), std::move(readiness.message), now);
  write_queue_status(kClusterQueues, queue->meta, queue->status, status, plan);
  return plan;
}

void add_key(const std::string& name, std::vector<ObjectKey>& keys) {
  if (!name.empty()) keys.push_back({&kClusterQueues, "", name});
}

void concerns(const ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<ClusterQueuePtr>(object)) {
    keys.push_back(key_of(object));
  } else if (const auto* local_queue = std::get_if<LocalQueuePtr>(&object)) {
    add_key((*local_queue)->cluster_queue, keys);
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    if ((*workload)->status.admission) add_key((*workload)->status.admission->cluster_queue, keys);
    const LocalQueue* local = state.local_queue((*workload)->meta.ns, (*workload)->queue_name);
    if (local != nullptr) add_key(local->cluster_queue, keys);
  } else if (std::holds_alternative<ResourceFlavorPtr>(object)) {
    for (const ClusterQueue* queue : state.cluster_queues_of_flavor(meta_of(object).name))
      add_key(queue->meta.name, keys);
  } else if (std::holds_alternative<AdmissionCheckPtr>(object)) {
    for (const ClusterQueue* queue : state.cluster_queues_of_check(meta_of(object).name))
      add_key(queue->meta.name, keys);
  }
}

}  // namespace

QueueReadiness readiness_of(const ClusterQueue& queue, const ClusterState& state) {
  if (queue.meta.deleting)
    return {false, std::string(kTerminatingReason), "Can't admit new workloads; clusterQueue is terminating"};
  std::string reason;
  std::string message;
  const auto add = [&](std::string_view why, const std::string& text) {
    if (reason.empty()) reason = why;
    message.append(message.empty() ? "" : ", ").append(text);
  };
  if (queue.stop_policy != StopPolicy::kNone) add(kStoppedReason, "is stopped");
  if (const auto names = missing_flavors(queue, state); !names.empty())
    add(kFlavorNotFoundReason, "references missing ResourceFlavor(s): " + join(names));
  const auto is_missing = [](const AdmissionCheck* check) { return check == nullptr; };
  if (const auto names = checks_where(queue, is_missing, state); !names.empty())
    add(kAdmissionCheckNotFoundReason, "references missing AdmissionCheck(s): " + join(names));
  const auto is_inactive = [](const AdmissionCheck* check) {
    return check != nullptr && !condition_is_true(check->conditions, kActiveCondition);
  };
  if (const auto names = checks_where(queue, is_inactive, state); !names.empty())
    add(kAdmissionCheckInactiveReason, "references inactive AdmissionCheck(s): " + join(names));
  if (reason.empty()) return {true, std::string(kReadyReason), "Can admit new workloads"};
  return {false, std::move(reason), "Can't admit new workloads: " + message + "."};
}

const Reconciler cluster_queue_reconciler = {.name = "cluster_queue", .concerns = concerns, .reconcile = reconcile};

}  // namespace muster
