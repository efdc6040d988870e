// The CRDs keep every field that the originals' objects have: nothing of a recorded
// object is pruned, in either version.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "manifests/catalog.h"
#include "manifests/names.h"
#include "test/support/vectors.h"

namespace crd_test {

using namespace muster;
using namespace muster::manifests;
using nlohmann::json;

namespace {

constexpr const char* kQueueKinds[] = {
    "AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Workload", "WorkloadPriorityClass"};

json schema_of(std::string_view kind, std::string_view version) {
  for (const json& crd : manifests::manifests(ManifestSet::kCrds, {})) {
    if (string_at(crd, {"spec", "names", "kind"}) != kind) continue;
    for (const json& one : crd.at("spec").at("versions")) {
      if (one.at("name") == version) return one.at("schema").at("openAPIV3Schema");
    }
  }
  FAIL("no schema for ", std::string(kind), " ", std::string(version));
  return {};
}

// Paths of fields that a structural schema drops, as the API server prunes.
void find_pruned(const json& schema, const json& value, const std::string& path, std::vector<std::string>& pruned) {
  if (value.is_array() && schema.contains("items")) {
    for (const json& item : value) find_pruned(schema["items"], item, path + "[]", pruned);
  }
  if (!value.is_object()) return;
  const json& properties = object_at(schema, {"properties"});
  for (const auto& [key, child] : value.items()) {
    const std::string at = path + "." + key;
    if (at == ".metadata") continue;
    if (properties.contains(key))
      find_pruned(properties[key], child, at, pruned);
    else if (schema.contains("additionalProperties"))
      find_pruned(schema["additionalProperties"], child, at, pruned);
    else if (!bool_at(schema, {"x-kubernetes-preserve-unknown-fields"}))
      pruned.push_back(at);
  }
}

std::vector<std::string> pruned(const json& object) {
  const std::string_view api_version = string_at(object, {"apiVersion"});
  std::vector<std::string> found;
  find_pruned(schema_of(string_at(object, {"kind"}), api_version.substr(api_version.find('/') + 1)), object, "", found);
  return found;
}

}  // namespace

TEST_CASE("a JobSet keeps its gang configuration and loses what nobody knows") {
  const json jobset = json::parse(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","spec":{"typo":1,
      "groupSchedulingConfig":{"timeoutAfterSeconds":300,"targetReplicatedJobs":["a"]},
      "replicatedJobs":[{"name":"a","template":{"spec":{"template":{"spec":{"any":{"thing":1}}}}}}]}})");
  CHECK(pruned(jobset) == std::vector<std::string>{".spec.typo"});
}

TEST_CASE("the CRDs are structural: every property has a type or is int-or-string") {
  std::vector<std::string> untyped;
  const std::function<void(const json&, const std::string&)> walk = [&](const json& schema, const std::string& path) {
    if (!schema.contains("type") && !bool_at(schema, {"x-kubernetes-int-or-string"})) untyped.push_back(path);
    for (const auto& [key, child] : object_at(schema, {"properties"}).items()) walk(child, path + "." + key);
    if (schema.contains("items")) walk(schema["items"], path + "[]");
    if (schema.contains("additionalProperties")) walk(schema["additionalProperties"], path + ".*");
  };
  walk(schema_of("JobSet", "v1alpha2"), "JobSet");
  for (const char* kind : kQueueKinds) {
    for (const char* version : {"v1beta1", "v1beta2"}) {
      walk(schema_of(kind, version), std::string(kind) + " " + version);
    }
  }
  CHECK(untyped == std::vector<std::string>{});
}

TEST_SUITE("vectors") {
  TEST_CASE("no recorded JobSet loses a field") {
    const auto lines = test::load_vectors("jobset_webhook");
    for (const json& line : lines) {
      INFO(line.at("id").get<std::string>());
      if (line.at("output").contains("object")) CHECK(pruned(line["output"]["object"]) == std::vector<std::string>{});
    }
  }

  TEST_CASE("no recorded queue, flavor or Workload loses a field in either version") {
    for (const char* set : {"validation", "conversion"}) {
      const auto lines = test::load_vectors(set);
      for (const json& line : lines) {
        INFO(line.at("id").get<std::string>());
        const json& output = line.at("output");
        for (const char* key : {"object", "converted", "roundTrip"}) {
          if (output.contains(key) && output[key].is_object()) CHECK(pruned(output[key]) == std::vector<std::string>{});
        }
      }
    }
  }
}

TEST_CASE("the kinds whose versions differ are converted by muster and the others need not be") {
  for (const json& crd : manifests::manifests(ManifestSet::kCrds, {})) {
    if (string_at(crd, {"spec", "group"}) != "kueue.x-k8s.io") continue;
    const std::string name(string_at(crd, {"metadata", "name"}));
    INFO(name);
    const bool converted = std::find(kConvertedDefinitionNames.begin(), kConvertedDefinitionNames.end(), name) !=
                           kConvertedDefinitionNames.end();
    CHECK(string_at(crd, {"spec", "conversion", "strategy"}) == (converted ? "Webhook" : "None"));
    CHECK(crd.at("spec").at("versions").at(1).at("storage") == true);
    CHECK(crd.at("spec").at("versions").at(1).at("name") == "v1beta2");
  }
}

TEST_CASE("a fallback strategy and its older spelling survive in the versions that have them") {
  const char* rules = R"({"failurePolicy":"DeactivateWorkload","rules":[{"name":"spot","timeout":"15m"},{"name":"*",
      "trigger":"AdmissionCheckRejected"},{"name":"on-demand","timeoutMinutes":5}]})";
  json queue = {{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "ClusterQueue"}};
  queue["spec"]["flavorFungibility"]["fallbackStrategy"] = json::parse(rules);
  CHECK(pruned(queue) == std::vector<std::string>{});
  queue["apiVersion"] = "kueue.x-k8s.io/v1beta1";
  queue["spec"]["flavorFungibility"]["flavorFallbackStrategy"] = json::parse(rules);
  queue["spec"]["flavorFungibility"]["flavorFallbackStrategy"]["strategy"] = "TimeoutBased";
  CHECK(pruned(queue) == std::vector<std::string>{});
}

TEST_CASE("the history of flavors survives in both versions") {
  for (const char* version : {"kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"}) {
    json workload = {{"apiVersion", version}, {"kind", "Workload"}};
    workload["status"] = json::parse(R"({"flavorFallback": {"clusterQueue": "team", "round": 2},
      "flavorAssignmentHistory": [{"resourceFlavor": "spot", "assignmentTime": "2026-01-01T12:00:00Z", "usedSeconds": 7,
        "failure": {"reason": "TimeoutForPodsReadyExceeded", "time": "2026-01-01T12:10:00Z"}}]})");
    CHECK(pruned(workload) == std::vector<std::string>{});
  }
}

}  // namespace crd_test
