// Writes the labels of their group into the pods of a StatefulSet or LeaderWorkerSet.
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "kinds/serving_types.h"
#include "reconcilers/pod/pod_context.h"
#include "reconcilers/serving/serving_context.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;
using state::NamespacedName;

std::optional<NamespacedName> stateful_set_of(const QueuedPod& pod) {
  const auto& owner = pod.meta.controller;
  if (!owner || owner->kind != kStatefulSets.kind || owner->api_version != kStatefulSets.api_version ||
      pod.meta.annotation(kSuspendingParent) != kStatefulSetFramework)
    return std::nullopt;
  return NamespacedName{pod.meta.ns, owner->name};
}

std::optional<NamespacedName> leader_worker_set_of(const QueuedPod& pod) {
  const std::string_view name = pod.meta.label(kLeaderWorkerSetName);
  if (name.empty() || pod.meta.annotation(kSuspendingParent) != kLeaderWorkerSetFramework) return std::nullopt;
  return NamespacedName{pod.meta.ns, name};
}

// Any user can write what these read: is_of_this_set() compares.
constexpr state::Index<QueuedPod> kPodsByStatefulSet{.key = stateful_set_of};
constexpr state::Index<QueuedPod> kPodsByLeaderWorkerSet{.key = leader_worker_set_of};

void patch_pod(const QueuedPod& pod, json metadata, Plan& plan) {
  plan.writes.push_back({.verb = Verb::kPatch,
                         .target = key_of(kQueuedPods, pod.meta),
                         .body = with_version(pod.meta, {{"metadata", std::move(metadata)}})});
}

bool is_of_this_set(const ServingContext& context, const QueuedPod& pod) {
  if (!jobs::is_stateful_set(context.set)) return true;
  return pod.meta.controller && pod.meta.controller->uid == context.set.meta.uid;
}

json group_of(const ServingContext& context, const QueuedPod& pod, int32_t group) {
  json labels = {{kManagedLabel, kManagedLabelValue}};
  if (const std::string_view queue = context.job.job.queue_name(); !queue.empty())
    labels[std::string(kQueueNameLabel)] = queue;
  json annotations = {{kPodGroupTotalCount, std::to_string(context.wanted.pods_per_group)},
                      {kPodGroupServing, "true"},
                      {kRoleHashAnnotation, jobs::role_in_set(context.set, pod)}};
  const std::string name = context.workload_name(group);
  json& named = context.rules().enabled(Gate::kWorkloadIdentifierAnnotations) ? annotations : labels;
  named[std::string(kPodGroupName)] = name;
  named[std::string(kPrebuiltWorkload)] = name;
  if (jobs::is_stateful_set(context.set)) {
    annotations[std::string(kPodGroupFastAdmission)] = "true";
    annotations[std::string(kPodGroupPodIndexLabel)] = kStatefulSetPodIndex;
    if (const std::string_view priority = context.job.job.priority_class(); !priority.empty())
      labels[std::string(kPriorityClassLabel)] = priority;
  }
  return {{"labels", std::move(labels)}, {"annotations", std::move(annotations)}};
}

void keep_pod(const ServingContext& context, const QueuedPod& pod, Plan& plan) {
  if (!is_of_this_set(context, pod) || pod.meta.deleting || pod.terminated()) return;
  if (jobs::is_stateful_set(context.set) && pod.gated() && jobs::is_outdated(context.wanted, pod)) {
    remove_pod(pod,
               event_about(pod, EventReason::kOutdatedPodDeleted,
                           "The pod waits, and an update of its StatefulSet replaces it"),
               state::Maker{context.set.meta.uid, "pods before " + context.wanted.update_revision}, plan);
    return;
  }
  const auto group = jobs::is_stateful_set(context.set) ? std::optional<int32_t>(0) : jobs::group_index_of(pod);
  if (!group || *group >= context.wanted.groups) return;
  if (pod.group().empty()) return patch_pod(pod, group_of(context, pod, *group), plan);
  const std::string_view queue = context.job.job.queue_name();
  if (pod.gated() && !queue.empty() && pod.meta.label(kQueueNameLabel) != queue)
    patch_pod(pod, {{"labels", {{kQueueNameLabel, queue}}}}, plan);
}

}  // namespace

void keep_pods(const ServingContext& context, Plan& plan) {
  const ObjectMeta& meta = context.set.meta;
  const auto& index = context.job.job.type() == kStatefulSets ? kPodsByStatefulSet : kPodsByLeaderWorkerSet;
  for (const QueuedPodPtr& pod : context.job.state.share_by(index, {meta.ns, meta.name})) keep_pod(context, *pod, plan);
}

}  // namespace muster::reconcilers
