#include "reconcilers/job/job_workload_make.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/workload_conditions.h"
#include "jobs/workload_name.h"

namespace muster {
namespace {

using nlohmann::json;

WorkloadPriority priority_by(const PriorityClass& priority_class) {
  const bool for_pods = priority_class.for_pods;
  const ResourceType& type = for_pods ? kPriorityClasses : kWorkloadPriorityClasses;
  return {.value = priority_class.value,
          .source = PriorityClassRef{
              .group = std::string(type.group), .kind = std::string(type.kind), .name = priority_class.meta.name}};
}

std::string_view pod_priority_class(const JobScene& scene) {
  if (!scene.job.readable()) return {};
  if (const std::string_view name = scene.job.pod_priority_class(); !name.empty()) return name;
  // A view into the job: the copies of the pod sets share their specs with it.
  for (const PodSet& pod_set : scene.job.pod_set_shapes(scene.settings.rules)) {
    if (!pod_set.pod_template.spec->priority_class.empty()) return pod_set.pod_template.spec->priority_class;
  }
  return {};
}

Labels labels_for(const JobScene& scene) {
  const ObjectMeta& meta = scene.job.meta();
  Labels labels;
  for (const std::string& key : scene.settings.label_keys_to_copy) {
    if (const auto found = meta.labels.find(key); found != meta.labels.end()) labels.insert(*found);
  }
  if (is_valid_label_value(meta.uid).empty()) labels.insert_or_assign(std::string(kJobUidLabel), meta.uid);
  return labels;
}

Labels annotations_for(const JobScene& scene, const std::string& name) {
  const RuleSettings& rules = scene.settings.rules;
  Labels annotations;
  for (const auto& [key, value] : scene.job.meta().annotations) {
    const bool gate = key == kAdmissionGatedByAnnotation && rules.enabled("AdmissionGatedBy");
    if (gate || key.starts_with(kAdmissionRequestPrefix)) annotations.emplace(key, value);
  }
  if (scene.job.elastic(rules)) {
    annotations.insert_or_assign(std::string(kElasticJobAnnotation), "true");
    annotations.insert_or_assign(std::string(kWorkloadSliceNameAnnotation), name);
  }
  return annotations;
}

}  // namespace

std::optional<WorkloadPriority> priority_of(const JobScene& scene, Plan& plan) {
  const std::string name(scene.job.priority_class());
  if (!name.empty()) {
    if (const PriorityClass* found = scene.state.priority_class(kWorkloadPriorityClasses, name))
      return priority_by(*found);
    plan.events.push_back(scene.event(kWarningEvent, "WorkloadPriorityClassNotFound",
                                      "WorkloadPriorityClass \"" + name + "\" not found"));
    return std::nullopt;
  }
  if (const std::string_view of_pods = pod_priority_class(scene); !of_pods.empty()) {
    const PriorityClass* found = scene.state.priority_class(kPriorityClasses, of_pods);
    return found == nullptr ? std::nullopt : std::optional(priority_by(*found));
  }
  const PriorityClass* general = scene.state.default_pod_priority();
  return general == nullptr ? WorkloadPriority{} : priority_by(*general);
}

bool names_other_class(const JobScene& scene, const Workload& workload) {
  const auto& source = workload.priority_class;
  if (source && source->kind != kWorkloadPriorityClasses.kind) return false;
  const std::string_view present = source ? std::string_view(source->name) : std::string_view();
  return present != scene.job.priority_class();
}

json to_json(const WorkloadPriority& priority) {
  json spec = {{"priority", priority.value}, {"priorityClassRef", nullptr}};
  if (priority.source) {
    spec["priorityClassRef"] = {
        {"group", priority.source->group}, {"kind", priority.source->kind}, {"name", priority.source->name}};
  }
  return spec;
}

std::string name_of_workload(const JobScene& scene) {
  const RuleSettings& rules = scene.settings.rules;
  const ObjectMeta& meta = scene.job.meta();
  const std::string extra = scene.job.elastic(rules) ? std::to_string(meta.generation) : std::string();
  return workload_name({scene.job.type().group, scene.job.type().kind, meta.name, meta.uid}, extra,
                       max_workload_name(rules));
}

json remake_spec(const JobScene& scene, const WorkloadPriority& priority) {
  json spec = to_json(priority);
  const auto seconds = scene.job.maximum_execution_seconds();
  spec["podSets"] = to_json(scene.job.pod_sets(scene.settings.rules));
  spec["queueName"] = scene.job.queue_name().empty() ? json() : json(scene.job.queue_name());
  spec["maximumExecutionTimeSeconds"] = seconds ? json(*seconds) : json();
  return spec;
}

json make_workload(const JobScene& scene, const WorkloadPriority& priority) {
  const ObjectMeta& job = scene.job.meta();
  const std::string name = name_of_workload(scene);
  json metadata = {{"name", name},
                   {"namespace", job.ns},
                   {"labels", labels_for(scene)},
                   {"finalizers", json::array({kResourceInUseFinalizer})},
                   {"ownerReferences", json::array({controller_reference(scene.job.type(), job, true)})}};
  if (const Labels annotations = annotations_for(scene, name); !annotations.empty())
    metadata["annotations"] = annotations;
  json spec = remake_spec(scene, priority);
  // Null takes a field out of a Workload; a new one has nothing to take out.
  for (auto field = spec.begin(); field != spec.end();) field = field->is_null() ? spec.erase(field) : std::next(field);
  return {{"apiVersion", kWorkloads.api_version},
          {"kind", kWorkloads.kind},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

}  // namespace muster
