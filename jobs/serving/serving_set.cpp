#include "jobs/serving/serving_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/counts.h"
#include "base/whole_number.h"
#include "jobs/workload_name.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"

namespace muster::jobs {

using nlohmann::json;

bool is_stateful_set(const DescribedJob& object) {
  return object.kind->type() == kStatefulSets;
}

ServingSet serving_set_of(const DescribedJob& object) {
  const json kept = json::parse(object.kept, nullptr, false);
  ServingSet set;
  const int32_t replicas = int32_at(kept, {"replicas"});
  if (!is_stateful_set(object)) {
    set.groups = replicas;
    set.pods_per_group = int32_at(kept, {"size"});
    return set;
  }
  set.groups = replicas > 0 ? 1 : 0;
  set.pods_per_group = replicas;
  set.updates_from = int32_at(kept, {"updatesFrom"});
  const std::string_view current = string_at(kept, {"currentRevision"}), update = string_at(kept, {"updateRevision"});
  if (kept.contains("updatesFrom") && !current.empty() && current != update) set.update_revision = update;
  return set;
}

bool has_other_parent(const DescribedJob& object) {
  for (const DescribedPodSet& pod_set : object.pod_sets) {
    const json metadata = json::parse(pod_set.pod_template.metadata_text, nullptr, false);
    const std::string_view parent = string_at(metadata, {"annotations", kSuspendingParent});
    if (!parent.empty() && parent != object.kind->framework) return true;
  }
  return false;
}

std::optional<int32_t> group_index_of(const QueuedPod& pod) {
  const auto index = whole_number<int32_t>(pod.meta.label(kLeaderWorkerGroup));
  return index && *index >= 0 ? index : std::nullopt;
}

std::string_view role_in_set(const DescribedJob& object, const QueuedPod& pod) {
  if (object.pod_sets.size() < 2) return "main";
  return pod.meta.annotation(kLeaderName).empty() ? "leader" : "worker";
}

bool is_outdated(const ServingSet& set, const QueuedPod& pod) {
  if (set.update_revision.empty() || pod.meta.label(kRevisionHash) == set.update_revision) return false;
  const auto index = whole_number<int32_t>(pod.meta.label(kStatefulSetPodIndex));
  return index && *index >= set.updates_from;
}

std::string serving_workload_name(const DescribedJob& object, int32_t group, const RuleSettings& settings) {
  const std::string name = is_stateful_set(object) ? object.meta.name : object.meta.name + "-" + std::to_string(group);
  return workload_name({object.kind->group, object.kind->kind, name, object.meta.uid}, "", max_workload_name(settings));
}

std::string older_workload_name(const DescribedJob& object, const RuleSettings& settings) {
  return workload_name({object.kind->group, object.kind->kind, object.meta.name, ""}, "", max_workload_name(settings));
}

std::string gvk_of(const ResourceType& type) {
  return std::string(type.api_version) + ", Kind=" + std::string(type.kind);
}

bool is_of_serving_set(const QueuedPod& pod) {
  const std::string_view parent = pod.meta.annotation(kSuspendingParent);
  return parent == kStatefulSetFramework || parent == kLeaderWorkerSetFramework;
}

}  // namespace muster::jobs
