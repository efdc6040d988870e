// The recorded behaviour of JobSet's own hooks, which muster takes over where it is the
// JobSet controller: defaults and errors on CREATE, errors on UPDATE, and what cannot
// be decoded.
//
// These differences are applied, each by a rule:
//  - the recording went through the CRD and typed Go structs: unknown fields are gone,
//    and unwritten fields appear as empty objects, empty strings, or with the
//    schema's default (normalised below; UPDATEs get the schema's defaults first);
//  - where the hook failed with a bare error, recorded as an InternalError of no field,
//    muster says the same of the field that is wrong;
//  - of an immutable list of replicated jobs muster names the fields that changed, and does not print the list;
//  - what never starts is refused beside that (kMoreRules): the errors of these rules are left out;
//  - muster does not watch PersistentVolumeClaims, and so compares nothing with them.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "jobs/edit.h"
#include "mutators/mutator.h"
#include "test/support/vectors.h"
#include "test/validators/recorded_errors.h"
#include "validators/validator.h"

namespace jobset_vectors_test {

using namespace muster;
using namespace muster::validators;
using nlohmann::json;

namespace {

bool is_empty_artefact(const json& value) {
  return value.is_null() || value == "" || (value.is_object() && value.empty());
}

json normalised(const std::string& key, const json& value) {
  if (key == "requests" || key == "limits") {
    json amounts = value;
    for (json& amount : amounts) {
      if (const auto quantity = Quantity::from_json(amount)) amount = quantity->text();
    }
    return amounts;
  }
  if (value.is_array()) {
    json copy = json::array();
    for (const json& element : value) copy.push_back(normalised("", element));
    return copy;
  }
  if (!value.is_object()) return value;
  json copy = json::object();
  for (const auto& [name, member] : value.items()) {
    json kept = normalised(name, member);
    if (!is_empty_artefact(kept)) copy[name] = std::move(kept);
  }
  return copy;
}

// What the schema does before any hook is asked, as far as the recordings need it.
// `spec.groupSchedulingConfig` is unknown to JobSet's schema; muster's keeps it.
void prune(json& jobset) {
  json* spec = jobs::existing_object(jobset, {"spec"});
  if (!spec) return;
  spec->erase("groupSchedulingConfig");
  json* list = jobs::existing_array(*spec, {"replicatedJobs"});
  for (size_t i = 0; list && i < list->size(); ++i) {
    if ((*list)[i].is_object()) (*list)[i].erase("extra");
  }
}

void set_schema_defaults(json& jobset) {
  json* list = jobs::existing_array(jobset, {"spec", "replicatedJobs"});
  for (size_t i = 0; list && i < list->size(); ++i) {
    json& replicated = (*list)[i];
    if (!replicated.contains("groupName")) replicated["groupName"] = "default";
    if (!replicated.contains("replicas")) replicated["replicas"] = 1;
  }
}

AdmissionRequest request_of(const json& input) {
  AdmissionRequest request;
  request.uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
  request.group = "jobset.x-k8s.io";
  request.version = "v1alpha2";
  request.resource = "jobsets";
  request.kind = "JobSet";
  request.operation = parse_operation(input.at("operation").get<std::string>()).value();
  request.object = input.at("object");
  request.old_object = input.value("oldObject", json());
  request.namespace_ = string_at(request.object, {"metadata", "namespace"});
  prune(request.object);
  if (request.operation == Operation::kUpdate) set_schema_defaults(request.object);
  return request;
}

RuleSettings settings_of(const json& input) {
  RuleSettings settings;
  settings.jobset_mode = JobSetMode::kNative;
  settings.jobset_feature_gates = input.value("featureGates", std::map<std::string, bool, std::less<>>());
  return settings;
}

// Rules of muster's own.
constexpr std::string_view kMoreRules[] = {"jobset_in_place_startup", "jobset_self_dependency",
                                           "jobset_ephemeral_containers", "jobset_exclusive_placement"};

bool is_jobset_rule(const Validator& validator) {
  return validator.name.starts_with("jobset_") &&
         std::find(std::begin(kMoreRules), std::end(kMoreRules), validator.name) == std::end(kMoreRules);
}

FieldErrors errors_of(const Review& review) {
  FieldErrors errors;
  for (const Validator* validator : all_validators()) {
    if (is_jobset_rule(*validator) && applies(validator->matches, validator->operations, review.request)) {
      append(errors, validator->check(review));
    }
  }
  return errors;
}

bool is_of_rule(const Review& review, std::string_view rule) {
  for (const Validator* validator : all_validators()) {
    if (validator->name == rule) {
      return applies(validator->matches, validator->operations, review.request) && !validator->check(review).empty();
    }
  }
  FAIL("no rule ", std::string(rule));
  return false;
}

// muster takes a claim that exists as it is.
bool compares_with_claims(const json& error) {
  const std::string field = error.at("field");
  return field.starts_with("spec.volumeClaimPolicies") && field.ends_with("].spec");
}

bool is_immutable_list(std::string_view field, const std::string& message) {
  return field.starts_with("spec.replicatedJobs") && message.ends_with(": field is immutable");
}

std::string end_of(const json& recorded) {
  return recorded.value(recorded.contains("message") ? "message" : "messageEnd", std::string());
}

// One error for all changed fields.
FieldErrors with_whole_lists(FieldErrors errors) {
  const auto is_change = [](const FieldError& error) { return is_immutable_list(error.field, error.message()); };
  const auto first = std::find_if(errors.begin(), errors.end(), is_change);
  if (first == errors.end()) return errors;
  errors.erase(std::remove_if(first + 1, errors.end(), is_change), errors.end());
  first->field = "spec.replicatedJobs";
  return errors;
}

bool same_error(const FieldError& ours, const json& recorded) {
  if (is_immutable_list(ours.field, ours.message()))
    return ours.field == recorded.at("field") && is_immutable_list(ours.field, end_of(recorded));
  if (recorded.at("field") == "<nil>")
    return !ours.field.empty() && test::same_text("Internal error: " + ours.detail, recorded);
  return test::same_error(ours, recorded);
}

std::vector<json> comparable(const json& recorded) {
  std::vector<json> errors;
  for (const json& error : recorded) {
    if (!compares_with_claims(error)) errors.push_back(error);
  }
  return errors;
}

void check_line(const json& input, const json& output) {
  const RuleSettings settings = settings_of(input);
  ClusterView view;
  for (const json& claim : input.value("existingPVCs", json::array())) view.put(claim);
  AdmissionRequest request = request_of(input);
  const Review review{request, view, settings};
  if (request.operation == Operation::kCreate) {
    const AdmissionResponse response = mutators::mutate(review);
    REQUIRE(response.is_allowed());
    request.object = request.object.patch(response.patch());
  }
  const bool undecodable = output.contains("decodeError");
  CHECK(is_of_rule(review, "jobset_field_types") == undecodable);
  if (undecodable) return;
  if (request.operation == Operation::kCreate)
    CHECK(normalised("", request.object) == normalised("", output.at("object")));
  const std::vector<json> recorded = comparable(output.at("webhookErrors"));
  test::check_errors(with_whole_lists(errors_of(review)), recorded, same_error);

  const bool refused = !recorded.empty() || std::any_of(std::begin(kMoreRules), std::end(kMoreRules),
                                                        [&](auto rule) { return is_of_rule(review, rule); });
  const AdmissionResponse response = validate(review);
  CHECK(response.is_allowed() == !refused);
  // The recorded hook returned its errors as one error of a reviewed object, which is 422.
  if (refused) CHECK(response.code() == 422);
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("JobSets are filled in and refused as by the recorded hooks of JobSet") {
    const auto lines = test::load_vectors("jobset_webhook");
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      check_line(line.at("input"), line.at("output"));
    }
  }

  TEST_CASE("beside another JobSet controller its JobSets are neither filled in nor refused") {
    const auto lines = test::load_vectors("jobset_webhook");
    const RuleSettings settings;
    const ClusterView view;
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      const AdmissionRequest request = request_of(line.at("input"));
      CHECK(mutators::mutate({request, view, settings}).patch().empty());
      CHECK(validators::validate({request, view, settings}).is_allowed());
    }
  }
}

}  // namespace jobset_vectors_test
