// The recorded behaviour of Kueue's own hooks for its kinds: what they add on CREATE and
// what they refuse.
//
// These differences are applied, each by a rule:
//  - what Kueue says in its CRDs and muster in its webhook (kFromSchema) is compared with
//    the recorded errors of the CRD, by what is wrong, where the schema went that far;
//    the root of an object is no field, and muster names the one that is wrong;
//  - what muster does not support it refuses beside that (kUnsupported);
//  - where an amount in a pod template is none, the recorded hook could not read the object,
//    and muster's says so of the field;
//  - a text in which the original prints a memory address has the number there.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "mutators/mutator.h"
#include "test/support/recorded_gates.h"
#include "test/validators/recorded_errors.h"
#include "validators/validator.h"

namespace queue_vectors_test {

using namespace muster;
using namespace muster::validators;
using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 10> kFromSchema = {"resourceflavor_topology_immutable",
                                                          "resource_groups_length",
                                                          "resourceflavor_toleration_shapes",
                                                          "workload_admission_count",
                                                          "workload_check_tolerations",
                                                          "workload_cluster_choice",
                                                          "workload_min_count",
                                                          "workload_priority_class",
                                                          "workload_reserved_immutable",
                                                          "clusterqueue_fallback_strategy"};
constexpr std::array<std::string_view, 4> kUnsupported = {"clusterqueue_unsupported", "localqueue_unsupported",
                                                          "resourceflavor_unsupported", "workload_unsupported"};
// Of resourceflavor_taints, whose other errors are the hook's.
constexpr std::string_view kTaintEffects = "supported taint effect values";

template <size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

AdmissionRequest request_of(const json& input) {
  AdmissionRequest request;
  request.uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
  request.group = "kueue.x-k8s.io";
  request.version = "v1beta2";
  request.kind = input.at("kind");
  request.resource = request.kind;
  for (char& c : request.resource) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  request.resource += "s";
  request.sub_resource = input.value("subresource", "");
  request.operation = parse_operation(input.at("operation").get<std::string>()).value();
  request.object = input.at("object");
  request.old_object = input.value("oldObject", json());
  request.namespace_ = string_at(request.object, {"metadata", "namespace"});
  return request;
}

RuleSettings settings_of(const json& input) {
  RuleSettings settings;
  settings.feature_gates = test::recorded_gates(input);
  return settings;
}

// muster's errors, distinguished by where Kueue has the same rule.
struct Found {
  FieldErrors hook, schema, unsupported;
};

Found errors_of(const Review& review) {
  Found found;
  for (const Validator* validator : all_validators()) {
    if (!applies(validator->matches, validator->operations, review.request)) continue;
    for (FieldError& error : validator->check(review)) {
      const bool schema = contains(kFromSchema, validator->name) || error.detail.starts_with(kTaintEffects);
      if (contains(kUnsupported, validator->name))
        found.unsupported.push_back(std::move(error));
      else
        (schema ? found.schema : found.hook).push_back(std::move(error));
    }
  }
  return found;
}

// Kueue's rule can fail in itself where a field is missing: "no such key: x evaluating rule: <detail>".
bool says(const json& recorded, const FieldError& error) {
  std::string detail = recorded.value("detail", "");
  // Since 0.20 it can be 0.
  if (detail.ends_with("minCount should be positive and less or equal to count"))
    detail = "minCount should be less or equal to count";
  const std::string field = recorded.at("field");
  return detail.ends_with(error.detail) && (field == "<nil>" || error.field.starts_with(field));
}

bool stopped_early(const json& crd_errors) {
  return std::any_of(crd_errors.begin(), crd_errors.end(), [](const json& error) {
    return error.value("detail", "").starts_with("some validation rules were not checked");
  });
}

void check_schema_errors(const FieldErrors& ours, const json& crd_errors) {
  if (stopped_early(crd_errors)) return;
  for (const FieldError& error : ours) {
    const bool recorded = std::any_of(crd_errors.begin(), crd_errors.end(),
                                      [&](const json& candidate) { return says(candidate, error); });
    CHECK_MESSAGE(recorded, error.text());
  }
}

void check_line(const json& input, const json& output) {
  const RuleSettings settings = settings_of(input);
  const ClusterView view;
  AdmissionRequest request = request_of(input);
  if (output.contains("decodeError")) {
    // Elsewhere than in a pod template the schema refuses it before any rule is asked.
    const bool amount = output["decodeError"].get<std::string>().starts_with("quantities");
    if (request.kind == "Workload" && amount) CHECK_FALSE(errors_of({request, view, settings}).hook.empty());
    return;
  }
  if (request.operation == Operation::kCreate) {
    const AdmissionResponse response = mutators::mutate({request, view, settings});
    REQUIRE(response.is_allowed());
    CHECK(request.object.patch(response.patch()).at("metadata") == output.at("object").at("metadata"));
  }
  request.object = output.at("object");
  const Review review{request, view, settings};
  const Found found = errors_of(review);
  test::check_errors(test::once_each(found.hook), test::once_each(output.at("webhookErrors").get<std::vector<json>>()),
                     test::same_error);
  check_schema_errors(found.schema, output.at("crdErrors"));

  const bool allowed = validate(review).is_allowed();
  CHECK(allowed == (found.hook.empty() && found.schema.empty() && found.unsupported.empty()));
  if (output.at("accepted") == true) CHECK(allowed == found.unsupported.empty());
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("queues and Workloads are filled in and refused as by the recorded hooks of Kueue") {
    const auto lines = test::load_vectors("validation");
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      check_line(line.at("input"), line.at("output"));
    }
  }
}

}  // namespace queue_vectors_test
