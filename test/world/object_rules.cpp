#include "test/world/object_rules.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "api/meta/object_meta.h"
#include "test/world/object_storage.h"

namespace muster::world {
namespace {

using nlohmann::json;

bool is(const ResourceType& type, const ResourceType& other) {
  return stored_id(type) == stored_id(other);
}

// Absent and null are the same to Kubernetes.
const json& value_at(const json& object, std::initializer_list<std::string_view> path) {
  static const json kNull;
  const json* value = find_path(object, path);
  return value == nullptr ? kNull : *value;
}

void set_default(json& object, const char* key, json value) {
  json& field = object[key];
  if (field.is_null()) field = std::move(value);
}

void set_job_defaults(json& job) {
  json& spec = job["spec"];
  // A Job without both fields runs one pod; a Job with only parallelism is a work queue.
  if (value_at(spec, {"completions"}).is_null() && value_at(spec, {"parallelism"}).is_null()) spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  set_default(spec, "backoffLimit", 6);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "podReplacementPolicy", spec.contains("podFailurePolicy") ? "Failed" : "TerminatingOrFailed");
}

void prepare_job(json& job) {
  const json uid = job["metadata"]["uid"], name = job["metadata"]["name"];
  job["spec"]["selector"] = {{"matchLabels", {{kControllerUidLabel, uid}}}};
  json& labels = job["spec"]["template"]["metadata"]["labels"];
  for (const char* prefix : {"batch.kubernetes.io/", ""}) {
    labels[std::string(prefix) + "controller-uid"] = uid;
    labels[std::string(prefix) + "job-name"] = name;
  }
  job["status"] = json::object();
}

std::string immutable(std::string_view field) {
  return std::string(field) + ": Invalid value: field is immutable";
}

// The parts of a pod template that decide where pods can run. A queue can change them as long as no pod runs.
json without_scheduling_directives(json pod_template) {
  if (pod_template.contains("metadata")) {
    pod_template["metadata"].erase("labels");
    pod_template["metadata"].erase("annotations");
    if (pod_template["metadata"].empty()) pod_template.erase("metadata");
  }
  for (const char* key : {"nodeSelector", "affinity", "tolerations", "schedulingGates"}) {
    if (pod_template.contains("spec")) pod_template["spec"].erase(key);
  }
  return pod_template;
}

bool directives_may_change(const json& job, bool resumed_jobs_may_change) {
  if (!bool_at(job, {"spec", "suspend"})) return false;
  const bool not_started = value_at(job, {"status", "startTime"}).is_null();
  if (!resumed_jobs_may_change) return not_started;
  // The rule for resumed Jobs applies to all, once it exists.
  return int_at(job, {"status", "active"}).value_or(0) == 0 && (not_started || has_condition(job, "Suspended"));
}

std::optional<std::string> check_job_change(const json& before, const json& after, bool resumed_jobs_may_change) {
  for (const char* field : {"selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy",
                            "successPolicy", "manualSelector"}) {
    if (value_at(before, {"spec", field}) != value_at(after, {"spec", field}))
      return immutable("spec." + std::string(field));
  }
  const json &old_completions = value_at(before, {"spec", "completions"}),
             &completions = value_at(after, {"spec", "completions"});
  const bool indexed = string_at(after, {"spec", "completionMode"}) == "Indexed";
  if (old_completions != completions && !(indexed && completions == value_at(after, {"spec", "parallelism"})))
    return immutable("spec.completions");
  const json &old_template = value_at(before, {"spec", "template"}),
             &new_template = value_at(after, {"spec", "template"});
  if (old_template == new_template) return std::nullopt;
  if (!directives_may_change(before, resumed_jobs_may_change)) return immutable("spec.template");
  if (without_scheduling_directives(old_template) != without_scheduling_directives(new_template))
    return immutable("spec.template");
  return std::nullopt;
}

std::optional<std::string> check_job_status(const json& before, const json& after) {
  const Conditions was = read_conditions(array_at(before, {"status", "conditions"})),
                   conditions = read_conditions(array_at(after, {"status", "conditions"}));
  for (const char* type : {"Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"}) {
    if (condition_is_true(was, type) && !condition_is_true(conditions, type))
      return "status.conditions: Invalid value: a condition " + std::string(type) + " that is True stays so";
  }
  const bool failed = condition_is_true(conditions, "Failed"), complete = condition_is_true(conditions, "Complete");
  if (failed && !condition_is_true(conditions, "FailureTarget"))
    return "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true "
           "condition";
  if (complete && !condition_is_true(conditions, "SuccessCriteriaMet"))
    return "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true "
           "condition";
  if (failed && complete) return "status.conditions: Invalid value: Failed and Complete exclude each other";
  if ((failed || complete) && int_at(after, {"status", "active"}).value_or(0) > 0)
    return "status.active: Invalid value: active>0 is invalid for finished job";
  const json &start = value_at(after, {"status", "startTime"}), &old_start = value_at(before, {"status", "startTime"});
  if ((failed || complete) && start.is_null()) return "status.startTime: Required value: of a finished job";
  if (!old_start.is_null() && start != old_start && !bool_at(after, {"spec", "suspend"}) &&
      !condition_is_true(was, "Suspended"))
    return "status.startTime: Invalid value: startTime cannot be changed for an unsuspended job";
  return std::nullopt;
}

void set_pod_defaults(json& pod) {
  set_default(pod["spec"], "restartPolicy", "Always");
  for (const char* list : {"containers", "initContainers"}) {
    if (!pod["spec"].contains(list)) continue;
    for (json& container : pod["spec"][list]) {
      for (const auto& [resource, limit] : object_at(container, {"resources", "limits"}).items())
        set_default(container["resources"]["requests"], resource.c_str(), limit);
    }
  }
}

}  // namespace

std::string uid_of(const json& object) {
  return std::string(string_at(object, {"metadata", "uid"}));
}

std::string object_name(const json& object) {
  return std::string(string_at(object, {"metadata", "name"}));
}

bool is_deleting(const json& object) {
  return !string_at(object, {"metadata", "deletionTimestamp"}).empty();
}

bool has_condition(const json& object, std::string_view type) {
  return condition_is_true(read_conditions(array_at(object, {"status", "conditions"})), type);
}

bool has_status_subresource(const ResourceType& type) {
  for (const ResourceType* without :
       {&kConfigMaps, &kLimitRanges, &kResourceFlavors, &kWorkloadPriorityClasses, &kPriorityClasses, &kRuntimeClasses,
        &kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations}) {
    if (is(type, *without)) return false;
  }
  return true;
}

bool has_generation(const ResourceType& type) {
  return !is(type, kConfigMaps) && !is(type, kNamespaces) && !is(type, kServices) && !is(type, kLimitRanges) &&
         !is(type, kPersistentVolumeClaims);
}

void set_defaults(const ResourceType& type, json& object) {
  if (is(type, kJobs)) set_job_defaults(object);
  if (is(type, kPods)) set_pod_defaults(object);
}

void prepare_for_create(const ResourceType& type, json& object) {
  if (has_status_subresource(type) && !is(type, kCustomResourceDefinitions)) object.erase("status");
  if (is(type, kJobs)) prepare_job(object);
  if (is(type, kPods)) object["status"] = {{"phase", "Pending"}};
}

std::optional<std::string> check_new(const ResourceType& type, const json& object) {
  const std::string_view name = string_at(object, {"metadata", "name"});
  std::vector<std::string> wrong = is_dns1123_subdomain(name);
  if (is(type, kServices)) wrong = is_dns1035_label(name);
  if (!wrong.empty()) return "metadata.name: Invalid value: \"" + std::string(name) + "\": " + wrong.front();
  for (const auto& [key, value] : labels_of(object)) {
    const std::vector<std::string> complaints = is_valid_label_value(value);
    if (!complaints.empty()) return "metadata.labels: Invalid value: \"" + value + "\": " + complaints.front();
  }
  if (is(type, kJobs)) {
    // The name becomes a label of the pods.
    if (name.size() > 63) return "spec.template.labels: Invalid value: \"" + std::string(name) + "\": too long";
    const std::string_view policy = string_at(object, {"spec", "template", "spec", "restartPolicy"});
    if (policy != "Never" && policy != "OnFailure")
      return "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"";
    if (string_at(object, {"spec", "completionMode"}) == "Indexed" && !int_at(object, {"spec", "completions"}))
      return "spec.completions: Required value: when completion mode is Indexed";
  }
  if (is(type, kPods) && array_at(object, {"spec", "containers"}).empty()) return "spec.containers: Required value";
  return std::nullopt;
}

std::optional<std::string> check_change(const ResourceType& type, const json& before, const json& after,
                                        bool resumed_jobs_may_change) {
  if (is(type, kJobs)) return check_job_change(before, after, resumed_jobs_may_change);
  return std::nullopt;
}

std::optional<std::string> check_status_change(const ResourceType& type, const json& before, const json& after) {
  if (is(type, kJobs)) return check_job_status(before, after);
  return std::nullopt;
}

}  // namespace muster::world
