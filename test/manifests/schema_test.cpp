// What the API server says of an object by the schemas of muster's definitions, without an API server.
#include "manifests/schema.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/review/review.h"
#include "manifests/schema_cel.h"
#include "mutators/mutator.h"
#include "test/support/recorded_gates.h"
#include "validators/validator.h"

namespace schema_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

const json& schema_of(std::string_view group, std::string_view version, std::string_view kind) {
  const DefinedKind* defined = find_defined_kind(group, kind);
  REQUIRE(defined);
  const DefinedKind::Version found = defined->version(version);
  REQUIRE(found.schema);
  return *found.schema;
}

const json& queue_schema() {
  return schema_of("kueue.x-k8s.io", "v1beta2", "ClusterQueue");
}

json cluster_queue() {
  return json::parse(R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"},
      "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
          {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}]}]}})");
}

json with(json object, const char* pointer, const char* value) {
  object[json::json_pointer(pointer)] = json::parse(value);
  return object;
}

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> all;
  for (const FieldError& error : errors) all.push_back(error.text());
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("schema: each kind of mistake is named with its field") {
  const char* quota = "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota";
  struct Row {
    const char* pointer;
    const char* value;
    const char* text;
  };
  const Row rows[] = {
      {"/spec/queueingStrategy", R"("FIFO")",
       R"(spec.queueingStrategy: Unsupported value: "FIFO": supported values: "BestEffortFIFO", "StrictFIFO")"},
      {"/spec/stopPolicy", "3",
       R"(spec.stopPolicy: Invalid value: "integer": spec.stopPolicy in body must be of type string: "integer")"},
      {quota, R"("abc")", "nominalQuota in body should match '^"},
      {quota, "1.5", R"(must be of type integer,string: "number")"},
      {"/spec/resourceGroups/0/coveredResources", "[]",
       "spec.resourceGroups[0].coveredResources: Invalid value: 0: spec.resourceGroups[0].coveredResources in body "
       "should have at least 1 items"},
      {"/spec/resourceGroups/0/flavors/0", R"({"name": "f"})",
       "spec.resourceGroups[0].flavors[0].resources: Required value"},
      {"/spec/resourceGroups/0/flavors/0/name", R"("")", "name in body should match '^"},
      {"/spec/resourceGroups/0/flavors/1", R"({"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]})",
       R"(spec.resourceGroups[0].flavors[1]: Duplicate value: {"name":"f"})"},
      {"/spec/resourceGroups/0/flavors",
       R"([{"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]},
           {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]},
           {"name": "f", "resources": [{"name": "cpu", "nominalQuota": 4}]}])",
       R"(spec.resourceGroups[0].flavors[1]: Duplicate value: {"name":"f"})"},
      {"/metadata/name", R"("Upper")", R"(metadata.name: Invalid value: "Upper": a lowercase RFC 1123 subdomain)"},
      {"/metadata/labels", R"({"a": 1})", R"(metadata.labels.a in body must be of type string: "integer")"},
      {"/metadata/labels", R"({"a": "no blanks"})", R"(metadata.labels: Invalid value: "no blanks")"},
      {"/status", R"({"conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": "",
          "lastTransitionTime": "now"}]})",
       R"(must be of type date-time: "now")"},
  };
  CHECK(texts(check_schema(queue_schema(), cluster_queue(), nullptr)) == Texts{});
  for (const Row& row : rows) {
    const Texts found = texts(check_schema(queue_schema(), with(cluster_queue(), row.pointer, row.value), nullptr));
    INFO(row.text);
    REQUIRE(found.size() == 1);
    CHECK_MESSAGE(found.front().find(row.text) != std::string::npos, found.front());
  }
}

TEST_CASE("schema: numbers keep to their bounds and to their format") {
  const json& schema = schema_of("kueue.x-k8s.io", "v1beta2", "Workload");
  json workload = json::parse(R"({"metadata": {"name": "w"}, "spec": {"podSets": [
      {"name": "main", "count": -1, "template": {"spec": {"containers": []}}}], "priority": 3000000000}})");
  CHECK(texts(check_schema(schema, workload, nullptr)) ==
        Texts{"spec.podSets[0].count: Invalid value: -1: spec.podSets[0].count in body should be greater than or "
              "equal to 0",
              "spec.priority: Invalid value: 3000000000: Checked value must be of type integer with format int32 in "
              "spec.priority"});
}

TEST_CASE("schema: limits that differ between the versions of Kueue's definitions") {
  struct Row {
    std::string version, kind, object;
    Texts errors;
  };
  const std::string names = R"(["a","b","c","d","e","f","g","h","i","j","k"])";
  const std::string nominated =
      R"({"spec": {"podSets": [{"count": 1, "template": {}}]}, "status": {"nominatedClusterNames": )" + names + "}}";
  const std::string no_name =
      R"({"spec": {"controllerName": "", "parameters": {"apiGroup": "a", "kind": "K", "name": "n"}}})";
  const Row rows[] = {
      {"v1beta2",
       "AdmissionCheck",
       no_name,
       {"spec.controllerName: Invalid value: \"\": spec.controllerName in body should be at least 1 chars long"}},
      {"v1beta1", "AdmissionCheck", no_name, {}},
      {"v1beta2", "Workload", nominated, {}},
      {"v1beta1", "Workload", nominated, {}},
      {"v1beta1", "Workload", R"({"spec": {"queueName": "q"}})", {"spec.podSets: Required value"}},
      {"v1beta2", "Workload", R"({"spec": {"queueName": "q"}})", {}},
      {"v1beta2",
       "Workload",
       R"({"spec": {"podSets": [{"count": 1, "template": {}}]}, "status": {"admission": {"clusterQueue": "q"}}})",
       {}},
      {"v1beta1",
       "Workload",
       R"({"spec": {"podSets": [{"count": 1, "template": {}}]}, "status": {"admission": {"clusterQueue": "q"}}})",
       {"status.admission.podSetAssignments: Required value"}},
  };
  for (const Row& row : rows) {
    INFO(row.version << " " << row.kind << " " << row.object);
    const json& schema = schema_of("kueue.x-k8s.io", row.version, row.kind);
    const json object = with(json::parse(row.object), "/metadata", R"({"name": "n"})");
    CHECK(texts(check_schema(schema, object, nullptr)) == row.errors);
  }
}

TEST_CASE("schema: what was wrong before and stays as it was can be kept") {
  const json wrong = with(cluster_queue(), "/spec/queueingStrategy", R"("FIFO")");
  CHECK(check_schema(queue_schema(), with(wrong, "/spec/stopPolicy", R"("Hold")"), wrong).empty());
  CHECK(check_schema(queue_schema(), with(wrong, "/spec/queueingStrategy", R"("LIFO")"), wrong).size() == 1);
}

TEST_CASE("schema: rules about changes need the object as it was") {
  const json& schema = schema_of("kueue.x-k8s.io", "v1beta2", "LocalQueue");
  const json before = json::parse(R"({"metadata": {"name": "q"}, "spec": {"clusterQueue": "a"}})");
  const json after = with(before, "/spec/clusterQueue", R"("b")");
  CHECK(check_schema(schema, after, nullptr).empty());
  CHECK(texts(check_schema(schema, after, before)) ==
        Texts{R"(spec.clusterQueue: Invalid value: "b": field is immutable)"});
  CHECK(texts(check_schema(schema, with(before, "/metadata/name", R"("r")"), before)) ==
        Texts{R"(metadata.name: Invalid value: "r": field is immutable)"});
}

TEST_CASE("schema: the Jobs of a JobSet have a template of their pods") {
  const json& schema = schema_of("jobset.x-k8s.io", "v1alpha2", "JobSet");
  const json jobset = json::parse(R"({"metadata": {"name": "j"}, "spec": {"replicatedJobs": [
      {"name": "a", "template": {"spec": {"parallelism": 2}}}]}})");
  CHECK(texts(check_schema(schema, jobset, nullptr)) ==
        Texts{"spec.replicatedJobs[0].template.spec.template: Required value"});
}

TEST_CASE("schema: a JobSet that starts in order depends on nothing else") {
  const json& schema = schema_of("jobset.x-k8s.io", "v1alpha2", "JobSet");
  json jobset = json::parse(R"({"metadata": {"name": "j"}, "spec": {"startupPolicy": {"startupPolicyOrder": "InOrder"},
      "replicatedJobs": [{"name": "a", "template": {}}]}})");
  CHECK(check_schema(schema, jobset, nullptr).empty());
  json both = jobset;
  both["spec"]["replicatedJobs"][0]["dependsOn"] = json::array();
  CHECK(texts(check_schema(schema, both, nullptr)) ==
        Texts{"spec: Invalid value: StartupPolicy and DependsOn APIs are mutually exclusive"});
  json nothing = jobset;
  nothing["spec"].erase("replicatedJobs");
  CHECK(check_schema(schema, nothing, nullptr).size() == 1);
  json group = jobset;
  group["spec"]["groupSchedulingConfig"] = {{"timeoutAfterSeconds", 60}};
  CHECK(check_schema(schema, group, nullptr).empty());
  CHECK(check_schema(schema, group, jobset).size() == 1);
}

TEST_CASE("schema: unknown fields are named with what was meant") {
  json queue = cluster_queue();
  queue["spec"]["queuingStrategy"] = "StrictFIFO";
  queue["metadata"]["lables"] = json::object();
  queue["spec"]["resourceGroups"][0]["flavors"][0]["zzz"] = 1;
  queue["spec"]["namespaceSelector"]["matchLabels"]["any"] = "value";
  CHECK(texts(find_unknown_fields(queue_schema(), queue)) ==
        Texts{R"(metadata.lables: Forbidden: unknown field; did you mean "labels"?)",
              R"(spec.queuingStrategy: Forbidden: unknown field; did you mean "queueingStrategy"?)",
              "spec.resourceGroups[0].flavors[0].zzz: Forbidden: unknown field"});
  prune_and_default(queue_schema(), queue);
  CHECK(find_unknown_fields(queue_schema(), queue).empty());
  CHECK(queue["spec"]["namespaceSelector"]["matchLabels"]["any"] == "value");
}

TEST_CASE("schema: defaults are set where nothing or null is written") {
  json queue = cluster_queue();
  queue["spec"]["stopPolicy"] = nullptr;
  queue["spec"]["cohortName"] = nullptr;
  prune_and_default(queue_schema(), queue);
  CHECK(queue["spec"]["stopPolicy"] == "None");
  CHECK(queue["spec"]["queueingStrategy"] == "BestEffortFIFO");
  CHECK_FALSE(queue["spec"].contains("cohortName"));
  CHECK(check_schema(queue_schema(), queue, nullptr).empty());
}

TEST_CASE("schema: pod templates are left alone") {
  json jobset = json::parse(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"},
      "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": {"any": {"thing": null}}}}}}]}})");
  const json written = jobset["spec"]["replicatedJobs"][0]["template"];
  const json& schema = schema_of("jobset.x-k8s.io", "v1alpha2", "JobSet");
  CHECK(find_unknown_fields(schema, jobset).empty());
  prune_and_default(schema, jobset);
  CHECK(jobset["spec"]["replicatedJobs"][0]["template"] == written);
}

TEST_CASE("schema: every CEL rule of the definitions has its equivalent") {
  size_t rules = 0;
  const std::function<void(const json&)> walk = [&](const json& schema) {
    for (const json& rule : array_at(schema, {"x-kubernetes-validations"})) {
      ++rules;
      CHECK_MESSAGE(evaluate_cel_rule(string_at(rule, {"rule"}), json::object(), json()) != CelOutcome::kUnknownRule,
                    "add this rule to manifests/schema_cel.cpp: " << rule.dump());
    }
    for (const auto& [key, child] : object_at(schema, {"properties"}).items()) walk(child);
    if (schema.contains("items")) walk(schema["items"]);
    if (schema.contains("additionalProperties")) walk(schema["additionalProperties"]);
  };
  for (const DefinedKind& kind : defined_kinds()) {
    for (const std::string& version : kind.served) walk(*kind.version(version).schema);
  }
  CHECK(rules >= 10);
}

namespace {

// What Kueue's and JobSet's definitions say in CEL, muster's say in validators.
bool is_structural(const json& error) {
  const std::string type = error.at("type"), detail = error.value("detail", ""), field = error.at("field");
  if (type != "FieldValueInvalid") return true;
  return detail.find(" in body ") != std::string::npos || detail.starts_with("Checked value") ||
         field.starts_with("metadata.");
}

// Of int-or-string the original reports each alternative; pod templates have no schema here, and the namespace of a
// manifest is given by whoever applies it.
bool is_comparable(const json& error) {
  const std::string detail = error.value("detail", ""), field = error.at("field");
  for (const char* part :
       {"(anyOf)", "(default format)", "must be of type integer: \"number\"", "some validation rules"}) {
    if (detail.find(part) != std::string::npos) return false;
  }
  for (const char* part : {".template.spec.template.", ".template.spec.containers[", "metadata.namespace"}) {
    if (field.find(part) != std::string::npos) return false;
  }
  return true;
}

std::string behind(const std::string& detail, const char* words) {
  const size_t at = detail.find(words);
  return at == std::string::npos ? detail : detail.substr(at);
}

bool same(const FieldError& ours, const json& recorded) {
  const std::string field = recorded.at("field"), detail = recorded.value("detail", "");
  if (field == "<nil>") return detail.ends_with(" in " + ours.field) && detail == ours.detail;
  // The path within a sentence is cut short where a part of the object was checked by itself.
  return field == ours.field && recorded.at("type") == reason_of(ours.type) &&
         behind(detail, " in body ") == behind(ours.detail, " in body ");
}

// What Kueue 0.20 says: a pod set can start with no pod, and a flavor with a topology can change its labels and
// tolerations.
json as_in_0_20(const json& recorded) {
  json errors = json::array();
  for (json error : recorded) {
    std::string detail = error.value("detail", "");
    if (detail.ends_with(" are immutable when topologyName is set")) continue;
    if (detail.ends_with(".minCount in body should be greater than or equal to 1")) {
      if (error.value("message", "").starts_with("Invalid value: 0:")) continue;
      detail.back() = '0';
      error["detail"] = std::move(detail);
    }
    errors.push_back(std::move(error));
  }
  return errors;
}

bool is_cel(const FieldError& ours) {
  return ours.type == FieldErrorType::kInvalid && ours.detail.find(" in body ") == std::string::npos;
}

// A rule of the original can fail in itself where a field is missing, and is not asked where the schema has
// found too much.
bool is_said_in_cel(const FieldError& ours, const json& recorded) {
  const std::string detail = recorded.value("detail", "");
  if (detail.starts_with("some validation rules were not checked")) return is_cel(ours);
  return ours.field == recorded.at("field") && (detail.ends_with(ours.detail) || detail.starts_with("no such key: "));
}

// muster needs to know where the quota is; Kueue's schema lets that open.
bool is_stricter(const FieldError& ours) {
  return ours.field == "status.admission.clusterQueue" && ours.type == FieldErrorType::kRequired;
}

void compare(const FieldErrors& ours, const json& recorded) {
  for (const json& error : recorded) {
    if (!is_structural(error) || !is_comparable(error)) continue;
    CHECK_MESSAGE(std::any_of(ours.begin(), ours.end(), [&](const FieldError& mine) { return same(mine, error); }),
                  "not found: " << error.dump());
  }
  for (const FieldError& error : ours) {
    if (is_stricter(error)) continue;
    CHECK_MESSAGE(std::any_of(recorded.begin(), recorded.end(),
                              [&](const json& one) { return same(error, one) || is_said_in_cel(error, one); }),
                  "not recorded: " << error.text());
  }
}

AdmissionRequest request_of(const json& input, const json& object, std::string_view group, std::string_view plural) {
  AdmissionRequest request;
  request.uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
  request.group = group;
  request.resource = plural;
  request.sub_resource = input.value("subresource", "");
  request.operation = parse_operation(input.at("operation").get<std::string>()).value();
  request.object = object;
  request.old_object = input.value("oldObject", json());
  return request;
}

void check_line(const json& input, const json& output, std::string_view group, std::string_view version) {
  if (!output.contains("object")) return;
  const json& object = output.at("object");
  const DefinedKind* kind = find_defined_kind(group, input.value("kind", "JobSet"));
  REQUIRE(kind);
  const FieldErrors errors = check_schema(*kind->version(version).schema, object, input.value("oldObject", json()));
  const json recorded = as_in_0_20(output.at("crdErrors"));
  compare(errors, recorded);
  RuleSettings settings;
  settings.jobset_mode = JobSetMode::kNative;
  settings.feature_gates = test::recorded_gates(json::object());
  settings.jobset_feature_gates = input.value("featureGates", std::map<std::string, bool, std::less<>>());
  const ClusterView view;
  const bool allowed =
      validators::validate({request_of(input, object, group, kind->plural), view, settings}).is_allowed();
  // What a pod template must have the API server says when the Jobs are made.
  const bool only_elsewhere = std::all_of(recorded.begin(), recorded.end(), [](const json& error) {
    const std::string field = error.at("field");
    return field == "metadata.namespace" || field.find(".template.spec.template.") != std::string::npos ||
           error.value("detail", "").starts_with("some validation rules");
  });
  const bool by_schema_alone = output.at("webhookErrors").empty() && !output.contains("decodeError");
  if (output.at("accepted") == false && !(only_elsewhere && by_schema_alone)) CHECK((!errors.empty() || !allowed));
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("schema: the errors of recorded queues, flavors and Workloads are found, and no others") {
    const auto lines = test::load_vectors("validation");
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      check_line(line.at("input"), line.at("output"), "kueue.x-k8s.io", "v1beta2");
    }
  }

  TEST_CASE("schema: the errors of recorded JobSets are found, and no others") {
    const auto lines = test::load_vectors("jobset_webhook");
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      check_line(line.at("input"), line.at("output"), "jobset.x-k8s.io", "v1alpha2");
    }
  }
}

}  // namespace schema_test
