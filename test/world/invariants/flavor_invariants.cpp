#include "test/world/invariants/flavor_invariants.h"

#include "api/workload.h"

namespace muster::world {

void FlavorInvariants::see(const Change& change) {
  if (*change.type == kWorkloads) return see_workload(change);
  if (*change.type != kClusterQueues) return;
  ClusterQueuePtr queue = read_cluster_queue(*change.after);
  const auto known = queues_.find(queue->meta.name);
  if (known != queues_.end() && known->second->meta.generation == queue->meta.generation) return;
  left_.clear();
  queues_.insert_or_assign(queue->meta.name, std::move(queue));
}

void FlavorInvariants::see_workload(const Change& change) {
  const WorkloadPtr after = read_workload(*change.after);
  const WorkloadPtr before = change.before == nullptr ? nullptr : read_workload(*change.before);
  const bool over = change.removed || after->finished() || !after->active || after->is_true(kPodsReadyCondition);
  if (over) left_.erase(after->meta.uid);
  if (over && (change.removed || after->finished())) return;
  const auto became = [&](std::string_view type) {
    return after->is_true(type) && (before == nullptr || !before->is_true(type));
  };
  if (became(kQuotaReservedCondition)) check_reservation(*after);
  if (became(kEvictedCondition) &&
      find_condition(after->status.conditions, kEvictedCondition)->reason == kFlavorFallbackReason)
    count_fallback(*after);
}

void FlavorInvariants::check_reservation(const Workload& workload) {
  if (!workload.status.admission || !workload.status.flavors.is_about(workload.status.admission->cluster_queue)) return;
  for (const PodSetAssignment& pod_set : workload.status.admission->pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      const FlavorAttempt* attempt = workload.status.flavors.find(flavor);
      if (attempt != nullptr && attempt->failure)
        violated_("Workload " + workload.meta.name + " got quota on flavor " + flavor + ", which has failed for it");
    }
  }
}

void FlavorInvariants::count_fallback(const Workload& workload) {
  if (!workload.status.admission) return;
  const auto queue = queues_.find(workload.status.admission->cluster_queue);
  if (queue == queues_.end() || !queue->second->fallback ||
      queue->second->fallback->failure_policy != FallbackFailurePolicy::kDeactivateWorkload)
    return;
  size_t flavors = 0;
  for (const ResourceGroup& group : queue->second->resource_groups) flavors += group.flavors.size();
  if (++left_[workload.meta.uid] > static_cast<int>(flavors))
    violated_("Workload " + workload.meta.name + " falls back for ever under DeactivateWorkload");
}

}  // namespace muster::world
