#include "reconcilers/serving/serving_workload_make.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/submitter.h"
#include "kinds/serving_types.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

// A Workload contains no metadata of a StatefulSet's pods. For other sets it contains no metadata of a single
// group.
void trim_metadata(const ServingContext& context, json& pod_sets) {
  for (json& pod_set : pod_sets) {
    json& metadata = pod_set["template"]["metadata"];
    if (jobs::is_stateful_set(context.set)) metadata = json::object();
    for (const char* field : {"labels", "annotations"}) {
      const auto map = metadata.find(field);
      if (map == metadata.end() || !map->is_object()) continue;
      for (auto entry = map->begin(); entry != map->end();) {
        const bool of_group = entry.key().starts_with(kLeaderWorkerSetPrefix) && entry.key() != kLeaderWorkerSetName;
        entry = of_group ? map->erase(entry) : std::next(entry);
      }
      if (map->empty()) metadata.erase(field);
    }
  }
}

Labels labels_for(const ServingContext& context) {
  Labels labels;
  for (const std::string& key : context.job.queues().label_keys_to_copy) {
    if (const auto found = context.set.meta.labels.find(key); found != context.set.meta.labels.end())
      labels.insert(*found);
  }
  labels.insert_or_assign(std::string(kJobUidLabel), context.set.meta.uid);
  return labels;
}

Labels annotations_for(const ServingContext& context, int32_t group) {
  Labels annotations{{std::string(kIsGroupWorkload), "true"},
                     {std::string(jobs::kJobOwnerGvk), jobs::gvk_of(context.job.job.type())},
                     {std::string(jobs::kJobOwnerName), context.set.meta.name}};
  if (!jobs::is_stateful_set(context.set)) annotations.emplace(jobs::kComponentIndex, std::to_string(group));
  if (const std::string gates = gates_of(context); !gates.empty())
    annotations.emplace(kAdmissionGatedByAnnotation, gates);
  for (const auto& [key, value] : context.set.meta.annotations) {
    if (key == kSubmitterAnnotation || key.starts_with(kAdmissionRequestPrefix)) annotations.emplace(key, value);
  }
  return annotations;
}

bool is_pod_of_set(const ServingContext& context, const QueuedPod& pod) {
  if (!jobs::is_stateful_set(context.set)) return pod.meta.label(kLeaderWorkerSetName) == context.set.meta.name;
  return pod.meta.controller && pod.meta.controller->uid == context.set.meta.uid;
}

}  // namespace

json owner_of(const ServingContext& context) {
  const ResourceType& type = context.job.job.type();
  return {{"apiVersion", type.api_version},
          {"kind", type.kind},
          {"name", context.set.meta.name},
          {"uid", context.set.meta.uid}};
}

bool has_owner(const json& owners, std::string_view uid) {
  return std::any_of(owners.begin(), owners.end(), [&](const json& owner) { return string_at(owner, {"uid"}) == uid; });
}

json spec_of(const ServingContext& context, const WorkloadPriority& priority) {
  json spec = remake_spec(context.job, priority);
  trim_metadata(context, spec["podSets"]);
  return spec;
}

std::string gates_of(const ServingContext& context) {
  return context.rules().enabled(Gate::kAdmissionGatedBy)
             ? std::string(context.set.meta.annotation(kAdmissionGatedByAnnotation))
             : std::string();
}

void make_workload(const ServingContext& context, int32_t group, std::string name, const WorkloadPriority& priority,
                   Plan& plan) {
  const std::string& ns = context.set.meta.ns;
  json metadata = {{"name", name},
                   {"namespace", ns},
                   {"labels", labels_for(context)},
                   {"annotations", annotations_for(context, group)},
                   {"finalizers", json::array({kResourceInUseFinalizer})},
                   {"ownerReferences", json::array({owner_of(context)})}};
  json spec = spec_of(context, priority);
  for (auto field = spec.begin(); field != spec.end();) field = field->is_null() ? spec.erase(field) : std::next(field);
  json body = {{"apiVersion", kWorkloads.api_version},
               {"kind", kWorkloads.kind},
               {"metadata", std::move(metadata)},
               {"spec", std::move(spec)}};
  Write write = creation_of(context.job, {&kWorkloads, ns, std::move(name)}, std::move(body),
                            context.job.job.type().kind, context.set.meta);
  write.maker = state::Maker{context.set.meta.uid, "Workloads"};
  plan.writes.push_back(std::move(write));
}

bool is_ours(const ServingContext& context, const Workload& workload) {
  return workload.of_pod_group() && workload.meta.label(kJobUidLabel) == context.set.meta.uid;
}

bool is_unmarked(const ServingContext& context, const Workload& workload) {
  if (!workload.of_pod_group() || !workload.meta.label(kJobUidLabel).empty()) return false;
  const auto pods = context.job.state.share_by(state::kPodsByGroup, {workload.meta.ns, workload.meta.name});
  return std::all_of(pods.begin(), pods.end(), [&](const QueuedPodPtr& pod) { return is_pod_of_set(context, *pod); });
}

void adopt(const ServingContext& context, int32_t group, const Workload& workload, Plan& plan) {
  json owners = json::parse(workload.group_owners_text);
  if (!has_owner(owners, context.set.meta.uid)) owners.push_back(owner_of(context));
  Labels annotations = annotations_for(context, group);
  annotations.erase(std::string(kAdmissionGatedByAnnotation));
  Write write = patch_workload(workload, Verb::kPatch,
                               {{"metadata",
                                 {{"labels", labels_for(context)},
                                  {"annotations", std::move(annotations)},
                                  {"ownerReferences", std::move(owners)}}}});
  write.events = {context.job.event(EventReason::kUpdatedWorkload,
                                    "Adopted the Workload of an older Kueue: " + path_of(workload.meta))};
  plan.writes.push_back(std::move(write));
}

std::string ServingContext::workload_name(int32_t group) const {
  std::string name = jobs::serving_workload_name(set, group, rules());
  if (!jobs::is_stateful_set(set) || job.state.find<Workload>(set.meta.ns, name) != nullptr) return name;
  const Workload* older = job.state.find<Workload>(set.meta.ns, jobs::older_workload_name(set, rules()));
  const bool keeps = older != nullptr && (is_unmarked(*this, *older) || is_ours(*this, *older));
  return keeps ? older->meta.name : name;
}

}  // namespace muster::reconcilers
