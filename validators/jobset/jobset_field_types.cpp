// Fields of a wrong type and invalid quantities are reported with their path. The other rules treat them as
// missing, and muster's schema does not check pod templates. Another rule checks the types of the fields of
// templates (template_fields.cpp). Rejected, for example:
//
//   containers: [{name: main, resources: {requests: {cpu: abc}}}]
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "jobs/job_kind.h"
#include "validators/validator.h"

namespace muster::validators::jobset_field_types {
namespace {

using nlohmann::json;

enum class Type { kBoolean, kInt32, kInteger, kString, kObject, kList };

bool is(Type type, const json& value) {
  switch (type) {
    case Type::kBoolean:
      return value.is_boolean();
    case Type::kInt32: {
      const std::optional<int64_t> number = int_at(value, {});
      return number && *number >= std::numeric_limits<int32_t>::min() && *number <= std::numeric_limits<int32_t>::max();
    }
    case Type::kInteger:
      return int_at(value, {}).has_value();
    case Type::kString:
      return value.is_string();
    case Type::kObject:
      return value.is_object();
    case Type::kList:
      return value.is_array();
  }
  return false;
}

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kBoolean:
      return "true or false";
    case Type::kInt32:
      return "a whole number of 32 bits";
    case Type::kInteger:
      return "a whole number";
    case Type::kString:
      return "a string";
    case Type::kObject:
      return "an object";
    case Type::kList:
      return "a list";
  }
  return "something else";
}

struct Field {
  std::string_view path;  // below the JobSet; "[]": of each element of the list
  Type type;
};

constexpr Field kFields[] = {
    {"spec", Type::kObject},
    {"spec.suspend", Type::kBoolean},
    {"spec.managedBy", Type::kString},
    {"spec.ttlSecondsAfterFinished", Type::kInt32},
    {"spec.activeDeadlineSeconds", Type::kInteger},
    {"spec.network", Type::kObject},
    {"spec.network.enableDNSHostnames", Type::kBoolean},
    {"spec.network.publishNotReadyAddresses", Type::kBoolean},
    {"spec.network.subdomain", Type::kString},
    {"spec.successPolicy", Type::kObject},
    {"spec.successPolicy.operator", Type::kString},
    {"spec.successPolicy.targetReplicatedJobs", Type::kList},
    {"spec.successPolicy.targetReplicatedJobs[]", Type::kString},
    {"spec.failurePolicy", Type::kObject},
    {"spec.failurePolicy.maxRestarts", Type::kInt32},
    {"spec.failurePolicy.restartStrategy", Type::kString},
    {"spec.failurePolicy.rules", Type::kList},
    {"spec.failurePolicy.rules[]", Type::kObject},
    {"spec.failurePolicy.rules[].name", Type::kString},
    {"spec.failurePolicy.rules[].action", Type::kString},
    {"spec.failurePolicy.rules[].onJobFailureReasons", Type::kList},
    {"spec.failurePolicy.rules[].onJobFailureReasons[]", Type::kString},
    {"spec.failurePolicy.rules[].onJobFailureMessagePatterns", Type::kList},
    {"spec.failurePolicy.rules[].onJobFailureMessagePatterns[]", Type::kString},
    {"spec.failurePolicy.rules[].targetReplicatedJobs", Type::kList},
    {"spec.failurePolicy.rules[].targetReplicatedJobs[]", Type::kString},
    {"spec.startupPolicy", Type::kObject},
    {"spec.startupPolicy.startupPolicyOrder", Type::kString},
    {"spec.coordinator", Type::kObject},
    {"spec.coordinator.replicatedJob", Type::kString},
    {"spec.coordinator.jobIndex", Type::kInteger},
    {"spec.coordinator.podIndex", Type::kInteger},
    {"spec.volumeClaimPolicies", Type::kList},
    {"spec.volumeClaimPolicies[]", Type::kObject},
    {"spec.replicatedJobs", Type::kList},
    {"spec.replicatedJobs[]", Type::kObject},
    {"spec.replicatedJobs[].name", Type::kString},
    {"spec.replicatedJobs[].groupName", Type::kString},
    {"spec.replicatedJobs[].replicas", Type::kInt32},
    {"spec.replicatedJobs[].dependsOn", Type::kList},
    {"spec.replicatedJobs[].dependsOn[]", Type::kObject},
    {"spec.replicatedJobs[].dependsOn[].name", Type::kString},
    {"spec.replicatedJobs[].dependsOn[].status", Type::kString},
};

void check_field(const json& value, std::string_view rest, const Field& field, const FieldPath& path,
                 FieldErrors& errors) {
  if (value.is_null()) return;
  if (rest.empty()) {
    if (!is(field.type, value)) {
      errors.push_back(type_invalid(path, value, "must be " + std::string(name_of(field.type))));
    }
    return;
  }
  if (rest.starts_with("[]")) {
    rest.remove_prefix(rest.starts_with("[].") ? 3 : 2);
    for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
      check_field(value[i], rest, field, path.index(i), errors);
    }
    return;
  }
  const std::string_view key = rest.substr(0, rest.find_first_of(".["));
  rest.remove_prefix(key.size());
  if (rest.starts_with('.')) rest.remove_prefix(1);
  if (const json* member = find_path(value, {key})) check_field(*member, rest, field, path.child(key), errors);
}

void check_quantities(const json& list, const FieldPath& path, FieldErrors& errors) {
  for (const auto& [resource, amount] : list.items()) {
    if (!amount.is_string() && !amount.is_number()) continue;  // template_fields.cpp
    if (const auto quantity = Quantity::from_json(amount); !quantity) {
      errors.push_back(invalid(path.key(resource), amount, quantity.error().message));
    }
  }
}

void check_containers(const json& pod_spec, std::string_view list, const FieldPath& path, FieldErrors& errors) {
  size_t i = 0;
  for (const json& container : array_at(pod_spec, {list})) {
    const FieldPath resources = path.child(list).index(i++).child("resources");
    for (const char* key : {"limits", "requests"}) {
      check_quantities(object_at(container, {"resources", key}), resources.child(key), errors);
    }
  }
}

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  FieldErrors errors;
  for (const Field& field : kFields) check_field(object, field.path, field, FieldPath(""), errors);
  for (const jobs::ConstPodTemplateRef& ref : jobs::jobset.read_pod_templates(object)) {
    const json& spec = object_at(*ref.template_json, {"spec"});
    const FieldPath path = ref.path.child("spec");
    check_containers(spec, "initContainers", path, errors);
    check_containers(spec, "containers", path, errors);
    check_quantities(object_at(spec, {"overhead"}), path.child("overhead"), errors);
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_field_types",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_field_types
