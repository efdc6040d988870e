#include "reconcilers/job/job_workload_make.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/meta/submitter.h"
#include "api/workload_conditions.h"
#include "jobs/admission_gates.h"
#include "jobs/workload_name.h"
#include "state/index/indexes.h"
#include "state/metrics/measurements.h"
#include "state/pod_priority.h"
#include "state/unsupported.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;

WorkloadPriority priority_by(const PriorityClass& priority_class) {
  const bool for_pods = priority_class.for_pods;
  const ResourceType& type = for_pods ? kPriorityClasses : kWorkloadPriorityClasses;
  return {.value = priority_class.value,
          .source = PriorityClassRef{
              .group = std::string(type.group), .kind = std::string(type.kind), .name = priority_class.meta.name}};
}

std::string_view pod_priority_class(const JobContext& context) {
  // The field of the job, before any template.
  if (const std::string_view name = context.job.pod_priority_class(); !name.empty()) return name;
  if (!context.job.readable()) return {};
  // A view into the job: the copies of the pod sets share their specs with it.
  for (const PodSet& pod_set : context.job.pod_set_shapes(context.queues().rules)) {
    if (!pod_set.pod_template.spec->priority_class.empty()) return pod_set.pod_template.spec->priority_class;
  }
  return {};
}

Labels labels_for(const JobContext& context) {
  const ObjectMeta& meta = context.job.meta();
  Labels labels;
  for (const std::string& key : context.queues().label_keys_to_copy) {
    if (const auto found = meta.labels.find(key); found != meta.labels.end()) labels.insert(*found);
  }
  if (is_valid_label_value(meta.uid).empty()) labels.insert_or_assign(std::string(kJobUidLabel), meta.uid);
  return labels;
}

Labels annotations_for(const JobContext& context, const std::string& name) {
  const RuleSettings& rules = context.queues().rules;
  Labels annotations;
  for (const auto& [key, value] : context.job.meta().annotations) {
    const bool gate = key == kAdmissionGatedByAnnotation && rules.enabled(Gate::kAdmissionGatedBy);
    if (gate || key == kSubmitterAnnotation || key.starts_with(kAdmissionRequestPrefix))
      annotations.emplace(key, value);
  }
  if (context.job.elastic(rules)) {
    annotations.insert_or_assign(std::string(kElasticJobAnnotation), "true");
    annotations.insert_or_assign(std::string(kWorkloadSliceNameAnnotation), name);
  }
  return annotations;
}

}  // namespace

std::optional<WorkloadPriority> priority_of(const JobContext& context) {
  if (const std::string_view name = context.job.priority_class(); !name.empty()) {
    const PriorityClass* found = context.state.find<PriorityClass>(kWorkloadPriorityClasses, "", name);
    return found == nullptr ? std::nullopt : std::optional(priority_by(*found));
  }
  if (const std::string_view of_pods = pod_priority_class(context); !of_pods.empty()) {
    const PriorityClass* found = context.state.find<PriorityClass>(kPriorityClasses, "", of_pods);
    return found == nullptr ? std::nullopt : std::optional(priority_by(*found));
  }
  const PriorityClass* general = state::default_pod_priority(context.state);
  return general == nullptr ? WorkloadPriority{} : priority_by(*general);
}

std::optional<WorkloadPriority> priority_or_event(const JobContext& context, Plan& plan) {
  auto priority = priority_of(context);
  const std::string name(context.job.priority_class());
  if (!priority && !name.empty())
    plan.events.push_back(
        context.event(EventReason::kWorkloadPriorityClassNotFound, "WorkloadPriorityClass \"" + name + "\" not found"));
  return priority;
}

bool names_other_class(const JobContext& context, const Workload& workload) {
  const auto& source = workload.priority_class;
  if (!source && workload.has_quota_reserved()) return false;
  if (source && source->kind != kWorkloadPriorityClasses.kind) return false;
  // While quota is reserved a class can only become another one.
  if (workload.has_quota_reserved() && context.job.priority_class().empty()) return false;
  const std::string_view present = source ? std::string_view(source->name) : std::string_view();
  return present != context.job.priority_class();
}

std::optional<std::string> gates_left(const RuleSettings& rules, const ObjectMeta& job, const Workload& workload) {
  if (!rules.enabled(Gate::kAdmissionGatedBy)) return std::nullopt;
  const std::string_view gates = job.annotation(kAdmissionGatedByAnnotation);
  const std::string_view present = workload.meta.annotation(kAdmissionGatedByAnnotation);
  if (present == gates) return std::nullopt;
  const std::vector<std::string_view> known = jobs::admission_gates_in(present);
  for (const std::string_view gate : jobs::admission_gates_in(gates)) {
    if (std::find(known.begin(), known.end(), gate) == known.end()) return std::nullopt;
  }
  return std::string(gates);
}

json annotations_with(const std::string& gates) {
  return {{std::string(kAdmissionGatedByAnnotation), gates.empty() ? json() : json(gates)}};
}

std::string note_of(const std::string& gates) {
  return "Updated workload AdmissionGatedBy to \"" + gates + "\"";
}

json to_json(const WorkloadPriority& priority) {
  json spec = {{"priority", priority.value}, {"priorityClassRef", nullptr}};
  if (priority.source) {
    spec["priorityClassRef"] = {
        {"group", priority.source->group}, {"kind", priority.source->kind}, {"name", priority.source->name}};
  }
  return spec;
}

std::string name_of_workload(const JobContext& context) {
  const RuleSettings& rules = context.queues().rules;
  const ObjectMeta& meta = context.job.meta();
  const std::string extra = context.job.elastic(rules) ? std::to_string(meta.generation) : std::string();
  return jobs::workload_name({context.job.type().group, context.job.type().kind, meta.name, meta.uid}, extra,
                             jobs::max_workload_name(rules));
}

Write creation_of(const JobContext& context, ObjectKey workload, json body, std::string_view kind,
                  const ObjectMeta& job) {
  const std::string path = path_of(workload.ns, workload.name);
  return {.verb = Verb::kCreate,
          .target = std::move(workload),
          .body = std::move(body),
          .events = {context.event(EventReason::kCreatedWorkload, "Created Workload: " + path)},
          .measurements = state::creation_of_workload(kind, job, context.queues().rules, context.stamp()),
          .refusal = context.event(EventReason::kWorkloadCreationFailed, "Workload " + path + " cannot be created: ")};
}

json remake_spec(const JobContext& context, const WorkloadPriority& priority) {
  json spec = to_json(priority);
  const auto seconds = context.job.maximum_execution_seconds();
  spec["podSets"] = muster::to_json(context.job.pod_sets(context.queues().rules));
  spec["queueName"] = context.job.queue_name().empty() ? json() : json(context.job.queue_name());
  spec["maximumExecutionTimeSeconds"] = seconds ? json(*seconds) : json();
  return spec;
}

json make_workload(const JobContext& context, const WorkloadPriority& priority) {
  const ObjectMeta& job = context.job.meta();
  const std::string name = name_of_workload(context);
  json metadata = {{"name", name},
                   {"namespace", job.ns},
                   {"labels", labels_for(context)},
                   {"finalizers", json::array({kResourceInUseFinalizer})},
                   {"ownerReferences", json::array({controller_reference(context.job.type(), job, true)})}};
  if (const Labels annotations = annotations_for(context, name); !annotations.empty())
    metadata["annotations"] = annotations;
  json spec = remake_spec(context, priority);
  // Null removes a field from a Workload; a new Workload has no field to remove.
  for (auto field = spec.begin(); field != spec.end();) field = field->is_null() ? spec.erase(field) : std::next(field);
  return {{"apiVersion", kWorkloads.api_version},
          {"kind", kWorkloads.kind},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

Step take_back(const JobContext& context, Plan& plan) {
  const ObjectMeta& job = context.job.meta();
  if (context.job.end() || !context.state.by(state::kWorkloadsByOwner, {"", job.uid}).empty()) return Step::kContinue;
  const Workload* made = context.state.find<Workload>(job.ns, name_of_workload(context));
  if (made == nullptr || made->meta.deleting || made->finished() || made->meta.label(kJobUidLabel) != job.uid ||
      state::can_be_stopped(*made, context.queues()))
    return Step::kContinue;
  json owners = json::array({controller_reference(context.job.type(), job, true)});
  Write write = patch_workload(*made, Verb::kPatch, {{"metadata", {{"ownerReferences", std::move(owners)}}}});
  write.events = {context.event(EventReason::kWorkloadTakenBack,
                                "Workload " + path_of(made->meta) +
                                    " was made for this job, but its controller was a " +
                                    made->meta.controller->kind.text() + "; this job is its controller again")};
  plan.writes.push_back(std::move(write));
  return Step::kDone;
}

}  // namespace muster::reconcilers
