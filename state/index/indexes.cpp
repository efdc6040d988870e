#include "state/index/indexes.h"

#include "api/cluster_queue.h"
#include "api/job.h"
#include "api/meta/constants.h"
#include "api/pods/limit_range.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "jobs/job_kind.h"

namespace muster::state {
namespace {

using Key = std::optional<NamespacedName>;

Key owner_of(const Workload& workload) {
  if (!workload.meta.controller) return std::nullopt;
  return NamespacedName{"", workload.meta.controller->uid};
}

Key queue_of(const Workload& workload) {
  return NamespacedName{workload.meta.ns, workload.queue_name};
}

Key cluster_queue_of(const Workload& workload) {
  if (!workload.status.admission) return std::nullopt;
  return NamespacedName{"", workload.status.admission->cluster_queue};
}

Key serving_set_of(const Workload& workload) {
  const std::string_view uid = workload.meta.label(kJobUidLabel);
  if (uid.empty() || !workload.of_pod_group()) return std::nullopt;
  return NamespacedName{workload.meta.ns, uid};
}

Key jobset_of(const Job& job) {
  const auto& controller = job.meta.controller;
  if (!controller || jobs::job_type_of(*controller) != &kJobSets) return std::nullopt;
  return NamespacedName{job.meta.ns, controller->name};
}

Key group_of(const QueuedPod& pod) {
  if (pod.group().empty() || pod.meta.label(kManagedLabel) != kManagedLabelValue) return std::nullopt;
  return NamespacedName{pod.meta.ns, pod.group()};
}

Key cluster_queue_of(const LocalQueue& queue) {
  return NamespacedName{"", queue.cluster_queue};
}

Key nth_flavor_of(const ClusterQueue& queue, size_t nth) {
  for (const ResourceGroup& group : queue.resource_groups) {
    if (nth < group.flavors.size()) return NamespacedName{"", group.flavors[nth].name};
    nth -= group.flavors.size();
  }
  return std::nullopt;
}

Key nth_check_of(const ClusterQueue& queue, size_t nth) {
  if (nth >= queue.admission_checks.size()) return std::nullopt;
  return NamespacedName{"", queue.admission_checks[nth].name};
}

Key namespace_of(const LimitRange& limit_range) {
  return NamespacedName{"", limit_range.meta.ns};
}

}  // namespace

const Index<Workload> kWorkloadsByOwner{.key = owner_of};
const Index<Workload> kWorkloadsByQueue{.key = queue_of};
const Index<Workload> kWorkloadsByClusterQueue{.key = cluster_queue_of};
const Index<Workload> kWorkloadsByServingSet{.key = serving_set_of};
const Index<Job> kJobsByJobSet{.key = jobset_of};
const Index<QueuedPod> kPodsByGroup{.key = group_of};
const Index<LocalQueue> kLocalQueuesByClusterQueue{.key = cluster_queue_of};
const Index<ClusterQueue> kClusterQueuesByFlavor{.nth_key = nth_flavor_of};
const Index<ClusterQueue> kClusterQueuesByCheck{.nth_key = nth_check_of};
const Index<LimitRange> kLimitRangesByNamespace{.key = namespace_of};

}  // namespace muster::state
