#include "reconcilers/pod/pod_workload_make.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/meta/object_meta.h"
#include "api/meta/submitter.h"
#include "api/workload_conditions.h"
#include "jobs/prebuilt_workload.h"
#include "reconcilers/job/job_workload_make.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A missing priority class can be created later.
constexpr Duration kPriorityInterval = std::chrono::seconds(5);
// A Workload contains no metadata of pods.
void drop_metadata(json& pod_sets) {
  if (!pod_sets.is_array()) return;
  for (json& pod_set : pod_sets) pod_set["template"]["metadata"] = json::object();
}

json body_of_single(const PodContext& context, const WorkloadPriority& priority) {
  json body = make_workload(context.job, priority);
  drop_metadata(body["spec"]["podSets"]);
  return body;
}

Labels annotations_for(const PodContext& context) {
  Labels annotations{{std::string(kIsGroupWorkload), "true"}};
  for (const auto& [key, value] : context.group.meta.annotations) {
    const bool gate = key == kAdmissionGatedByAnnotation && context.rules().enabled(Gate::kAdmissionGatedBy);
    if (gate || key.starts_with(kAdmissionRequestPrefix)) annotations.emplace(key, value);
  }
  // A group of several users' pods has none.
  const std::string_view submitter = context.group.meta.annotation(kSubmitterAnnotation);
  const bool of_one = std::all_of(context.group.pods.begin(), context.group.pods.end(), [&](const QueuedPodPtr& pod) {
    return pod->meta.annotation(kSubmitterAnnotation) == submitter;
  });
  if (of_one && !submitter.empty()) annotations.emplace(kSubmitterAnnotation, submitter);
  return annotations;
}

json body_of_group(const PodContext& context, const WorkloadPriority& priority, const Labels& labels) {
  json owners = json::array();
  for (const QueuedPodPtr& pod : context.group.pods) owners.push_back(plain_owner(*pod));
  json metadata = {{"name", context.group.group},
                   {"namespace", context.group.meta.ns},
                   {"annotations", annotations_for(context)},
                   {"finalizers", json::array({kResourceInUseFinalizer})},
                   {"ownerReferences", std::move(owners)}};
  put_map(metadata, "labels", labels);
  json spec = remake_spec(context.job, priority);
  drop_metadata(spec["podSets"]);
  for (auto field = spec.begin(); field != spec.end();) field = field->is_null() ? spec.erase(field) : std::next(field);
  return {{"apiVersion", kWorkloads.api_version},
          {"kind", kWorkloads.kind},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

void create(const PodContext& context, std::string name, json body, Plan& plan) {
  const ObjectKey key{&kWorkloads, context.group.meta.ns, std::move(name)};
  if (context.job.state.find<Workload>(key.ns, key.name) != nullptr) {
    plan.wake_at(context.job.now.wall + kNameConflictInterval);
    plan.events.push_back(context.job.event(EventReason::kWorkloadNameConflict,
                                            "Workload " + path_of(key.ns, key.name) +
                                                " exists and does not belong to this pod; delete it, and this pod gets "
                                                "one of that name"));
    return;
  }
  Write write = creation_of(context.job, key, std::move(body), kQueuedPods.kind, context.group.meta);
  // What is wrong with a pod of a ReplicaSet is wrong with each.
  if (const auto& controller = context.group.meta.controller)
    write.maker = state::Maker{controller->uid, "Workloads of pods"};
  plan.writes.push_back(std::move(write));
}

std::optional<WorkloadPriority> priority_or_wait(const PodContext& context, Plan& plan) {
  auto priority = priority_or_event(context.job, plan);
  if (!priority) plan.wake_at(context.job.now.wall + kPriorityInterval);
  return priority;
}

void say(const PodContext& context, const jobs::GroupError& error, Plan& plan) {
  plan.events.push_back(context.job.event(EventReason::kErrWorkloadCompose, error.message));
}

void make_for_members(const PodContext& context, Plan& plan) {
  const auto pod_sets = jobs::pod_sets_of(context.group);
  if (!pod_sets) return say(context, pod_sets.error(), plan);
  if (pod_sets->size() > jobs::kMostRoles)
    return say(context,
               {"pod group can't include more than " + std::to_string(jobs::kMostRoles) + " roles", true, true}, plan);
  const auto labels = jobs::labels_to_copy(context.group.pods, context.job.queues().label_keys_to_copy);
  if (!labels) return say(context, labels.error(), plan);
  const auto priority = priority_or_wait(context, plan);
  if (!priority) return;
  create(context, context.group.group, body_of_group(context, *priority, *labels), plan);
}

}  // namespace

json plain_owner(const QueuedPod& pod) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.meta.name}, {"uid", pod.meta.uid}};
}

void make_workload(const PodContext& context, Plan& plan) {
  // A namespace in deletion accepts no new objects, and the pods are deleted with it.
  const TypedObject* ns = context.job.state.find(kNamespaces, "", context.group.meta.ns);
  if (ns != nullptr && meta_of(*ns).deleting) return;
  const std::vector<QueuedPodPtr>& pods = context.group.pods;
  if (std::all_of(pods.begin(), pods.end(), [](const QueuedPodPtr& pod) { return pod->meta.deleting; })) return;
  if (!context.is_group()) {
    if (const auto priority = priority_or_wait(context, plan))
      create(context, name_of_workload(context.job), body_of_single(context, *priority), plan);
    return;
  }
  const auto members = jobs::members_of(context.group);
  if (!members) return say(context, members.error(), plan);
  remove_excess(context, members->excess, plan);
  PodGroup group = context.group;
  group.pods = members->members;
  with_context(std::move(group), context.job, [&](const PodContext& kept) { make_for_members(kept, plan); });
}

void remake_workload(const PodContext& context, const Workload& workload, Plan& plan) {
  const auto priority = priority_or_wait(context, plan);
  if (!priority) return;
  json spec = remake_spec(context.job, *priority);
  drop_metadata(spec["podSets"]);
  Write write = patch_workload(workload, Verb::kPatch, {{"spec", std::move(spec)}});
  write.events = {context.job.event(EventReason::kUpdatedWorkload,
                                    "Updated not matching Workload for suspended job: " + path_of(workload.meta))};
  plan.writes.push_back(std::move(write));
}

}  // namespace muster::reconcilers
