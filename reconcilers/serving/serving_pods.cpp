// What the pods of a StatefulSet or LeaderWorkerSet are told of their group.
#include <nlohmann/json.hpp>

#include "api/kinds/serving_types.h"
#include "api/meta/constants.h"
#include "reconcilers/pod/pod_scene.h"
#include "reconcilers/serving/serving_scene.h"

namespace muster {
namespace {

using nlohmann::json;

void patch_pod(const QueuedPod& pod, json metadata, Plan& plan) {
  plan.writes.push_back({.verb = Verb::kPatch,
                         .target = key_of(kQueuedPods, pod.meta),
                         .body = with_version(pod.meta, {{"metadata", std::move(metadata)}})});
}

bool is_of_this_set(const ServingScene& scene, const QueuedPod& pod) {
  if (!is_stateful_set(scene.set)) return true;
  return pod.meta.controller && pod.meta.controller->uid == scene.set.meta.uid;
}

json group_of(const ServingScene& scene, const QueuedPod& pod, int32_t group) {
  json labels = {{kManagedLabel, kManagedLabelValue}};
  if (const std::string_view queue = scene.job.job.queue_name(); !queue.empty())
    labels[std::string(kQueueNameLabel)] = queue;
  json annotations = {{kPodGroupTotalCount, std::to_string(scene.wanted.pods_per_group)},
                      {kPodGroupServing, "true"},
                      {kRoleHashAnnotation, role_in_set(scene.set, pod)}};
  const std::string name = scene.workload_name(group);
  json& named = scene.rules().enabled("WorkloadIdentifierAnnotations") ? annotations : labels;
  named[std::string(kPodGroupName)] = name;
  named[std::string(kPrebuiltWorkload)] = name;
  if (is_stateful_set(scene.set)) {
    annotations[std::string(kPodGroupFastAdmission)] = "true";
    annotations[std::string(kPodGroupPodIndexLabel)] = kStatefulSetPodIndex;
    if (const std::string_view priority = scene.job.job.priority_class(); !priority.empty())
      labels[std::string(kPriorityClassLabel)] = priority;
  }
  return {{"labels", std::move(labels)}, {"annotations", std::move(annotations)}};
}

void keep_pod(const ServingScene& scene, const QueuedPod& pod, Plan& plan) {
  if (!is_of_this_set(scene, pod) || pod.meta.deleting || pod.terminated()) return;
  if (is_stateful_set(scene.set) && pod.gated() && is_outdated(scene.wanted, pod)) {
    remove_pod(pod,
               event_about(pod, kNormalEvent, "OutdatedPodDeleted",
                           "The pod waits, and an update of its StatefulSet replaces it"),
               plan);
    return;
  }
  const auto group = is_stateful_set(scene.set) ? std::optional<int32_t>(0) : group_index_of(pod);
  if (!group || *group >= scene.wanted.groups) return;
  if (pod.group().empty()) return patch_pod(pod, group_of(scene, pod, *group), plan);
  const std::string_view queue = scene.job.job.queue_name();
  if (pod.gated() && !queue.empty() && pod.meta.label(kQueueNameLabel) != queue)
    patch_pod(pod, {{"labels", {{kQueueNameLabel, queue}}}}, plan);
}

}  // namespace

void keep_pods(const ServingScene& scene, Plan& plan) {
  const ObjectMeta& meta = scene.set.meta;
  for (const QueuedPodPtr& pod : scene.job.state.pods_of_serving_set(scene.job.job.type(), meta.ns, meta.name))
    keep_pod(scene, *pod, plan);
}

}  // namespace muster
