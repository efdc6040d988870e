// The recorded behaviour of Kueue's hooks for Jobs and JobSets: mutated object and
// errors on CREATE, errors on UPDATE.
//
// These differences are applied to the recording, each by a rule:
//  - the recording went through typed Go structs, which print empty objects, nulls
//    and zeros for unwritten fields (normalised below);
//  - muster gives the default priority class to queued jobs only;
//  - muster adds no scheduling gate to elastic Jobs, since it has no slices that would remove it;
//  - muster refuses jobs that other clusters are to run (multikueue_unsupported);
//  - muster names the field of a RayService as it is written (spec.rayClusterConfig);
//  - a TrainJob that has the runtime patch of Kueue's name gets no second one;
//  - a job whose pods cannot be counted is refused when it is queued;
//  - muster says which field is wrong where Kueue's hook failed with a bare error.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "jobs/management.h"
#include "mutators/mutator.h"
#include "test/support/recorded_gates.h"
#include "validators/validator.h"

namespace muster::test {

using nlohmann::json;

inline bool is_empty_artefact(const json& value) {
  return value.is_null() || (value.is_object() && value.empty());
}

// Without what a Go struct prints of unwritten fields.
inline json normalised(const json& value) {
  if (value.is_array()) {
    json copy = json::array();
    for (const json& element : value) copy.push_back(normalised(element));
    return copy;
  }
  if (!value.is_object()) return value;
  json copy = json::object();
  for (const auto& [key, member] : value.items()) {
    json kept = normalised(member);
    if (key == "status" && kept == json{{"restarts", 0}}) continue;
    if (!is_empty_artefact(kept)) copy[key] = std::move(kept);
  }
  return copy;
}

inline json cluster_object(const char* api_version, const char* kind, const char* name, json spec,
                           const char* ns = nullptr) {
  json object = {
      {"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}, {"spec", std::move(spec)}};
  if (ns) object["metadata"]["namespace"] = ns;
  return object;
}

inline json name_space(const char* name, json labels) {
  labels["kubernetes.io/metadata.name"] = name;
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}, {"labels", std::move(labels)}}}};
}

inline ClusterView view_of(const json& environment) {
  constexpr const char* kKueue = "kueue.x-k8s.io/v1beta2";
  ClusterView view;
  view.put(name_space("team-a", environment.value("namespaceLabels", json::object())));
  view.put(name_space("kube-system", json::object()));
  view.put(name_space("kueue-system", json::object()));
  if (environment.value("defaultLocalQueue", false)) {
    view.put(cluster_object(kKueue, "LocalQueue", "default", {{"clusterQueue", "cq"}}, "team-a"));
  }
  if (environment.value("defaultWorkloadPriorityClass", false)) {
    view.put(cluster_object(kKueue, "WorkloadPriorityClass", "default", json::object()));
  }
  if (environment.value("multiKueueQueue", false)) {
    view.put(cluster_object(kKueue, "LocalQueue", "mk-queue", {{"clusterQueue", "mk-cq"}}, "team-a"));
    view.put(cluster_object(kKueue, "ClusterQueue", "mk-cq",
                            {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "mk"}}}}}}}));
    view.put(cluster_object(kKueue, "AdmissionCheck", "mk", {{"controllerName", "kueue.x-k8s.io/multikueue"}}));
  }
  for (const json& owner : environment.value("objects", json::array())) view.put(owner);
  return view;
}

inline RuleSettings settings_of(const json& input) {
  const json default_selector = json::parse(R"({"matchExpressions": [
      {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", "kueue-system"]}]})");
  const json& config = input.at("config");
  RuleSettings settings;
  // A set has the integrations of its kinds enabled.
  const std::string kind(string_at(input, {"object", "kind"}));
  if (kind != "Job" && kind != "JobSet") {
    for (const jobs::JobKind* known : jobs::job_kinds()) settings.frameworks.emplace(known->framework);
  }
  settings.manage_jobs_without_queue_name = config.value("manageJobsWithoutQueueName", false);
  settings.managed_jobs_namespace_selector =
      LabelSelector::parse(config.value("managedJobsNamespaceSelector", default_selector)).value();
  if (config.contains("frameworks")) {
    settings.frameworks.clear();
    for (const json& name : config["frameworks"]) settings.frameworks.insert(name.get<std::string>());
  }
  settings.feature_gates = recorded_gates(input);
  // Kueue has no such guard.
  settings.suspend_guard = SuspendGuard::kObserve;
  return settings;
}

inline AdmissionRequest request_of(const json& input) {
  AdmissionRequest request;
  request.uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
  request.object = input.at("object");
  request.old_object = input.value("oldObject", json());
  request.operation = parse_operation(input.at("operation").get<std::string>()).value();
  request.group = group_of(string_at(request.object, {"apiVersion"}));
  request.kind = string_at(request.object, {"kind"});
  const jobs::JobKind* kind = jobs::find_job_kind(request.group, request.kind);
  REQUIRE(kind != nullptr);
  request.version = kind->type.version;
  request.resource = kind->type.plural;
  request.namespace_ = string_at(request.object, {"metadata", "namespace"});
  return request;
}

using Complaint = std::tuple<std::string, std::string, std::string, std::string>;

// Kueue's checks say some sentences twice; its answer, like muster's, has each once.
inline void sort_once_each(std::vector<Complaint>& complaints) {
  std::sort(complaints.begin(), complaints.end());
  complaints.erase(std::unique(complaints.begin(), complaints.end()), complaints.end());
}

// The rules themselves: the driver never asks them about an object that is being deleted.
inline std::vector<Complaint> complaints_of(const Review& review) {
  std::vector<Complaint> complaints;
  for (const validators::Validator* validator : validators::all_validators()) {
    const auto& operations = validator->operations;
    if (validator->name == "multikueue_unsupported") continue;
    // muster refuses all of Ray's autoscaling, Kueue that of jobs that are not elastic.
    if (validator->name == "ray_autoscaling" && jobs::is_elastic(review.settings, review.request.object)) continue;
    if (!applies(validator->matches, operations, review.request) || !validator->is_in_force(review.settings)) continue;
    for (const FieldError& error : validator->check(review)) {
      complaints.emplace_back(error.field, reason_of(error.type), error.detail, error.message());
    }
  }
  sort_once_each(complaints);
  return complaints;
}

// As muster says it; nullopt: it has no such rule.
inline std::optional<json> as_ours(json error, const json& object) {
  if (error["detail"] == "an elastic job must have the ElasticJobSchedulingGate") return std::nullopt;
  std::string field = error["field"];
  constexpr std::string_view kTheirs = "spec.rayClusterSpec";
  if (object["kind"] == "RayService" && field.starts_with(kTheirs))
    error["field"] = "spec.rayClusterConfig" + field.substr(kTheirs.size());
  // Kueue names a gate and an annotation. Who follows that is refused by muster's next sentence.
  if (field.ends_with(".enableInTreeAutoscaling")) {
    const std::string detail =
        "muster does not queue Ray clusters that scale themselves: pods would run beyond their quota; set "
        "enableInTreeAutoscaling to false, and the replicas of the worker groups to what the job needs";
    error["detail"] = detail;
    error["message"] = "Invalid value: true: " + detail;
  }
  return error;
}

inline json errors_as_ours(const json& output, const json& object) {
  json errors = json::array();
  for (const json& error : output.value("errors", json::array())) {
    if (auto ours = as_ours(error, object)) errors.push_back(*std::move(ours));
  }
  return errors;
}

inline std::vector<Complaint> recorded_complaints(const json& errors) {
  std::vector<Complaint> complaints;
  for (const json& error : errors) {
    complaints.emplace_back(error.at("field"), error.at("type"), error.at("detail"), error.value("message", ""));
  }
  sort_once_each(complaints);
  return complaints;
}

// Long messages are recorded by their two ends.
inline bool same_message(const std::string& ours, const json& recorded) {
  if (recorded.contains("anyMessage")) return true;
  if (recorded.contains("message")) return ours == recorded["message"];
  return ours.size() > 400 && ours.starts_with(recorded.at("messageStart").get<std::string>()) &&
         ours.ends_with(recorded.at("messageEnd").get<std::string>());
}

inline std::string text_of(const std::vector<Complaint>& complaints) {
  std::string text;
  for (const auto& [field, type, detail, message] : complaints) text += "\n  " + field + " " + type + ": " + message;
  return text.empty() ? "none" : text;
}

// The recorded verdict is that of the recorded errors, which are compared.
inline void check_verdict(const json& output) {
  const bool failed = output.contains("mutatingError") || output.contains("validatingError");
  CHECK(output["accepted"] == (!failed && output.value("errors", json::array()).empty()));
}

inline void check_complaints(const Review& review, const json& output) {
  const auto ours = complaints_of(review);
  const json errors = errors_as_ours(output, review.request.object);
  const auto recorded = recorded_complaints(errors);
  INFO("ours: ", text_of(ours), "\nrecorded: ", text_of(recorded));
  CHECK(ours.size() == recorded.size());
  std::vector<json> left = errors;
  for (const Complaint& complaint : ours) {
    // Named one by one: clang 14 captures no structured bindings.
    const std::string& field = std::get<0>(complaint);
    const std::string& type = std::get<1>(complaint);
    const std::string& detail = std::get<2>(complaint);
    const std::string& message = std::get<3>(complaint);
    const auto match = std::find_if(left.begin(), left.end(), [&](const json& error) {
      return error["field"] == field && error["type"] == type && error["detail"] == detail &&
             same_message(message, error);
    });
    CHECK_MESSAGE(match != left.end(), field, ": ", message);
    if (match != left.end()) left.erase(match);
  }
}

// Kueue's gate on the pods of elastic jobs, where the object under review did not have it.
inline void remove_elastic_gates(json& value, const json* given) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      remove_elastic_gates(value[i],
                           given != nullptr && given->is_array() && i < given->size() ? &(*given)[i] : nullptr);
    return;
  }
  if (!value.is_object()) return;
  for (auto& [key, member] : value.items()) {
    const json* other = given == nullptr ? nullptr : find_path(*given, {key});
    if (key != "schedulingGates" || other != nullptr || !member.is_array()) {
      remove_elastic_gates(member, other);
      continue;
    }
    member.erase(std::remove(member.begin(), member.end(), json{{"name", kElasticJobGate}}), member.end());
    if (member.empty()) member = nullptr;
  }
}

inline void remove_second_patch(json& object) {
  const json::json_pointer place("/spec/runtimePatches");
  if (!object.contains(place)) return;
  json kept = json::array();
  bool seen = false;
  for (const json& patch : object[place]) {
    const bool own = patch["manager"] == kRuntimePatchManager;
    if (!own || !seen) kept.push_back(patch);
    seen |= own;
  }
  object[place] = std::move(kept);
}

// Takes a label away that the object under review did not have: its own, and those of its pod templates.
inline void remove_added_label(json& value, const json* given, std::string_view key) {
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i)
      remove_added_label(value[i], given != nullptr && given->is_array() && i < given->size() ? &(*given)[i] : nullptr,
                         key);
    return;
  }
  if (!value.is_object()) return;
  for (auto& [name, member] : value.items()) {
    const json* other = given == nullptr ? nullptr : find_path(*given, {name});
    if (name == "labels" && member.is_object() && (other == nullptr || !other->contains(key)))
      member.erase(std::string(key));
    else
      remove_added_label(member, other, key);
  }
}

// The recorded commit labels jobs that are in no queue, too, and Kueue before 0.20 those of excluded namespaces.
inline json expected_object(const json& input, const json& output, const RuleSettings& settings,
                            const ClusterView& view) {
  // What was edited, without the fields that a typed API prints of itself.
  json expected = output.at("object");
  if (output.contains("mergePatch") && output["mergePatch"].is_object()) {
    expected = input.at("object");
    expected.merge_patch(output["mergePatch"]);
  }
  remove_elastic_gates(expected, &input.at("object"));
  remove_second_patch(expected);
  const bool given = label(input.at("object"), kPriorityClassLabel).has_value();
  const Labels* labels = view.namespace_labels(string_at(expected, {"metadata", "namespace"}));
  const bool queued =
      (!label(expected, kQueueNameLabel).value_or("").empty() || settings.manage_jobs_without_queue_name) && labels &&
      settings.managed_jobs_namespace_selector.matches(*labels);
  if (!queued && !given) remove_added_label(expected, &input.at("object"), kPriorityClassLabel);
  return normalised(expected);
}

// request.object with the response's patch applied.
inline json patched(const AdmissionRequest& request, const AdmissionResponse& response) {
  return request.object.patch(response.patch());
}

inline void check_line(const json& input, const json& output) {
  const RuleSettings settings = settings_of(input);
  const ClusterView view = view_of(input.at("environment"));
  AdmissionRequest request = request_of(input);
  const Review review{request, view, settings};
  if (output.contains("accepted")) check_verdict(output);

  if (request.operation == Operation::kCreate) {
    const AdmissionResponse response = mutators::mutate(review);
    if (output.contains("mutatingError")) {
      CHECK_FALSE(response.is_allowed());
      CHECK(response.message() == output["mutatingError"].get<std::string>());
      return;
    }
    CHECK_MESSAGE(response.is_allowed(), response.message());
    const json object = patched(request, response);
    if (output.contains("object")) CHECK(normalised(object) == expected_object(input, output, settings, view));
    request.object = object;
  }
  if (output.contains("validatingError")) {
    if (jobs::is_queued_here(review)) CHECK_FALSE(complaints_of(review).empty());
    return;
  }
  check_complaints(review, output);
}

}  // namespace muster::test
