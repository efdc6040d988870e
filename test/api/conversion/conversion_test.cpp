#include "api/conversion/conversion.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/support/vectors.h"

namespace conversion_test {

using namespace muster;
using muster::test::load_vectors;
using nlohmann::json;

namespace {

QueueVersion version(const json& name) {
  return name == "v1beta1" ? QueueVersion::kV1Beta1 : QueueVersion::kV1Beta2;
}
QueueVersion other(QueueVersion from) {
  return from == QueueVersion::kV1Beta1 ? QueueVersion::kV1Beta2 : QueueVersion::kV1Beta1;
}

json object(const char* kind, const char* api_version, const char* text) {
  json made = json::parse(text);
  made["kind"] = kind;
  made["apiVersion"] = std::string("kueue.x-k8s.io/") + api_version;
  made["metadata"] = {{"name", "one"}};
  return made;
}

// What an object looks like in the other version; a text says why there is none.
json converted(json from, QueueVersion to) {
  const auto outcome = convert_object(from, to);
  return outcome ? from : json(outcome.error().message);
}

// The recorded way there and back never left the originals' memory, where an empty list
// is not null; on the wire v1beta2 leaves both out, and what comes back is null.
json without_empty_lists(json value) {
  if (value == json::array()) return nullptr;
  if (value.is_structured()) {
    for (json& child : value) child = without_empty_lists(std::move(child));
  }
  return value;
}

json assigned(const json& topology, const char* api_version) {
  json made = object("Workload", api_version, R"({"status":{"admission":{"podSetAssignments":[{"name":"main"}]}}})");
  made["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = topology;
  return made;
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("Objects are converted between the versions of the queue API and back") {
    const auto lines = load_vectors("conversion");
    for (const json& line : lines) {
      INFO(line["id"].get<std::string>());
      const json& input = line["input"];
      const json& output = line["output"];
      json made = input["object"];
      const QueueVersion from = version(input["from"]);
      const auto there = convert_object(made, other(from));
      CHECK(there.ok() == !output.contains("error"));
      if (!there.ok() || output.contains("error")) continue;
      json expected = output["converted"];
      json round_trip = output["roundTrip"];
      // Kueue drops it, muster's webhook refuses it.
      const json::json_pointer policy("/spec/concurrentAdmissionPolicy");
      if (input["object"].contains(policy)) expected[policy] = round_trip[policy] = input["object"][policy];
      CHECK(made == expected);
      CHECK(convert_object(made, from).ok());
      CHECK(without_empty_lists(made) == without_empty_lists(round_trip));
    }
  }
}

TEST_CASE("An object that already has the wanted version stays as it is") {
  const json queue = object("LocalQueue", "v1beta2", R"({"spec":{"clusterQueue":"cq"}})");
  CHECK(converted(queue, QueueVersion::kV1Beta2) == queue);
}

TEST_CASE("Empty texts are left out, and a flavor without resources has null in the older version alone") {
  const char* spec = R"({"spec": {"queueingStrategy": "", "stopPolicy": "", "flavorFungibility":
      {"whenCanBorrow": "", "whenCanPreempt": "", "preference": ""}, "preemption": {"reclaimWithinCohort": "",
      "withinClusterQueue": "", "borrowWithinCohort": {"policy": ""}},
      "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f"}]}]}})";
  const json kept = json::parse(R"({"stopPolicy": "", "flavorFungibility": {"preference": ""},
      "preemption": {"borrowWithinCohort": {}},
      "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": "f"}]}]})");
  json older = kept;
  older["resourceGroups"][0]["flavors"][0]["resources"] = nullptr;
  CHECK(converted(object("ClusterQueue", "v1beta2", spec), QueueVersion::kV1Beta1)["spec"] == older);
  CHECK(converted(object("ClusterQueue", "v1beta1", spec), QueueVersion::kV1Beta2)["spec"] == kept);
  json back = object("ClusterQueue", "v1beta1", "{}");
  back["spec"] = older;
  CHECK(converted(back, QueueVersion::kV1Beta2)["spec"] == kept);
  const json queue = object("LocalQueue", "v1beta1", R"({"spec": {"clusterQueue": ""}})");
  CHECK(converted(queue, QueueVersion::kV1Beta2)["spec"] == json::object());
}

TEST_CASE("Fields of a Workload that Go prints although they are empty are printed") {
  for (const QueueVersion to : {QueueVersion::kV1Beta1, QueueVersion::kV1Beta2}) {
    const char* from = to == QueueVersion::kV1Beta1 ? "v1beta2" : "v1beta1";
    INFO(from);
    const json full = converted(object("Workload", from, R"({"spec": {"podSets": [{"template": {"spec": {"containers":
        [{"image": "i"}], "initContainers": [{"name": "n"}]}}}]}, "status": {"admission": {}}})"),
                                to);
    const json& pod_set = full["spec"]["podSets"][0];
    CHECK(pod_set["count"] == 0);
    CHECK(pod_set["template"]["spec"]["containers"] == json::parse(R"([{"image": "i", "name": "", "resources": {}}])"));
    CHECK(pod_set["template"]["spec"]["initContainers"] == json::parse(R"([{"name": "n", "resources": {}}])"));
    CHECK(full["status"]["admission"] == json::parse(R"({"clusterQueue": "", "podSetAssignments": null})"));
    CHECK(converted(object("Workload", from, R"({"spec": {"active": true}})"), to)["spec"] ==
          json::parse(R"({"active": true, "podSets": null})"));
  }
}

TEST_CASE(
    "The resources that a group covers are null in the older version if there are none, and absent in the newer") {
  const char* spec = R"({"spec": {"resourceGroups": [{"coveredResources": [], "flavors": [{"name": "f"}]}]}})";
  const char* absent = R"({"spec": {"resourceGroups": [{"flavors": [{"name": "f"}]}]}})";
  const auto group = [](const json& queue) { return queue["spec"]["resourceGroups"][0]; };
  CHECK_FALSE(
      group(converted(object("ClusterQueue", "v1beta1", spec), QueueVersion::kV1Beta2)).contains("coveredResources"));
  CHECK(group(converted(object("ClusterQueue", "v1beta2", absent), QueueVersion::kV1Beta1))
            .at("coveredResources")
            .is_null());
}

TEST_CASE("What cannot be converted is refused with the reason") {
  const struct {
    const char* name;
    json object;
    const char* why;
  } rows[] = {
      {"no object", json::array(), "must be a JSON object"},
      {"another group", json{{"apiVersion", "batch/v1"}, {"kind", "Job"}}, "\"batch/v1\" is no version"},
      {"an unknown version", object("Workload", "v1", "{}"), "\"kueue.x-k8s.io/v1\" is no version"},
      {"a kind without differences", object("ResourceFlavor", "v1beta1", "{}"), "strategy None"},
      {"a spec that is no object", object("Cohort", "v1beta1", R"({"spec":7})"), "spec must be an object"},
      {"a status that is no object", object("Cohort", "v1beta1", R"({"status":"x"})"), "status must be an object"},
      {"a domain with too few values",
       assigned(json::parse(R"({"levels":["a","b"],"domains":[{"count":1,"values":["x"]}]})"), "v1beta1"),
       "podSetAssignments[0].topologyAssignment.domains[0].values has 1 entries, but there are 2 levels"},
  };
  for (const auto& row : rows) {
    INFO(std::string(row.name));
    const json got = converted(row.object, QueueVersion::kV1Beta2);
    REQUIRE(got.is_string());
    INFO(got.get<std::string>());
    CHECK(got.get<std::string>().find(row.why) != std::string::npos);
  }
}

TEST_CASE("Slices that contradict themselves are refused and never read past their end") {
  const struct {
    const char* name;
    const char* slice;
    const char* why;
  } rows[] = {
      {"more domains than pod counts",
       R"({"domainCount":2,"podCounts":{"individual":[1]},"valuesPerLevel":[{"universal":"x"}]})",
       "slices[0].podCounts.individual has 1 entries for 2 domains"},
      {"more domains than roots",
       R"({"domainCount":2,"podCounts":{"universal":1},"valuesPerLevel":[{"individual":{"roots":["1"]}}]})",
       "valuesPerLevel[0].individual.roots has 1 entries for 2 domains"},
      {"a level without values", R"({"domainCount":1,"podCounts":{"universal":1},"valuesPerLevel":[]})",
       "slices[0].valuesPerLevel has 0 entries, but there are 1 levels"},
      {"more domains than memory", R"({"domainCount":2000000000,"podCounts":{"universal":1}})",
       "slices[0].domainCount is 2000000000"},
      {"a negative number of domains", R"({"domainCount":-1})", "slices[0].domainCount is -1"},
  };
  for (const auto& row : rows) {
    INFO(std::string(row.name));
    json topology = {{"levels", {"rack"}}, {"slices", json::array({json::parse(row.slice)})}};
    const json got = converted(assigned(topology, "v1beta2"), QueueVersion::kV1Beta1);
    REQUIRE(got.is_string());
    INFO(got.get<std::string>());
    CHECK(got.get<std::string>().find(row.why) != std::string::npos);
  }
}

TEST_CASE("A suffix wins over a prefix where both would overlap in the shortest value") {
  const json topology =
      json::parse(R"({"levels":["l"],"domains":[{"count":1,"values":["ababa"]},{"count":1,"values":["aba"]}]})");
  const json there = converted(assigned(topology, "v1beta1"), QueueVersion::kV1Beta2);
  CHECK(there.at("/status/admission/podSetAssignments/0/topologyAssignment/slices/0/valuesPerLevel/0"_json_pointer) ==
        json::parse(R"({"individual":{"suffix":"aba","roots":["ab",""]}})"));
  const json back = converted(there, QueueVersion::kV1Beta1);
  CHECK(back.at("/status/admission/podSetAssignments/0/topologyAssignment"_json_pointer) == topology);
}

TEST_CASE("The older spelling of the flavor fallback becomes the newer one") {
  json queue = object("ClusterQueue", "v1beta1", R"({"spec": {"flavorFungibility": {"flavorFallbackStrategy":
    {"strategy": "TimeoutBased", "failurePolicy": "RetryAllFlavors", "rules": [{"name": "*", "timeout": "10m"}]}}}})");
  const json there = converted(queue, QueueVersion::kV1Beta2);
  CHECK(there["spec"]["flavorFungibility"] == json::parse(R"({"fallbackStrategy":
    {"failurePolicy": "RetryAllFlavors", "rules": [{"name": "*", "timeout": "10m"}]}})"));
  queue["spec"]["flavorFungibility"]["fallbackStrategy"] = json::object();
  CHECK(converted(queue, QueueVersion::kV1Beta2) ==
        "spec.flavorFungibility: fallbackStrategy and flavorFallbackStrategy are two names of one field; give one of "
        "them");
}

TEST_CASE("What a v1beta1 manifest says of concurrent admission reaches the webhook") {
  const json policy = {{"migration", {{"mode", "TryPreferredFlavors"}}}};
  json queue = object("ClusterQueue", "v1beta1", "{}");
  queue["spec"]["concurrentAdmissionPolicy"] = policy;
  const json there = converted(queue, QueueVersion::kV1Beta2);
  CHECK(there["spec"]["concurrentAdmissionPolicy"] == policy);
  // A mutating webhook is called with v1beta2, and what it gives back becomes v1beta1 again.
  CHECK(converted(there, QueueVersion::kV1Beta1)["spec"]["concurrentAdmissionPolicy"] == policy);
}

TEST_CASE("The flavor fallback of muster is the same in both versions") {
  const json fungibility = json::parse(R"({
    "whenCanBorrow": "TryNextFlavor",
    "fallbackStrategy": {"failurePolicy": "RetryAllFlavors", "rules": [{"name": "*", "timeoutMinutes": 5}]}})");
  json queue = object("ClusterQueue", "v1beta1", "{}");
  queue["spec"]["flavorFungibility"] = fungibility;
  const json there = converted(queue, QueueVersion::kV1Beta2);
  CHECK(there["spec"]["flavorFungibility"] == fungibility);
  CHECK(converted(there, QueueVersion::kV1Beta1)["spec"]["flavorFungibility"] == fungibility);

  const json history = json::parse(R"([{"resourceFlavor":"spot","usedSeconds":7}])");
  json workload = object("Workload", "v1beta2", "{}");
  workload["status"] = {{"flavorAssignmentHistory", history},
                        {"flavorFallback", {{"clusterQueue", "q"}, {"round", 2}}}};
  const json old = converted(workload, QueueVersion::kV1Beta1);
  CHECK(old["status"]["flavorAssignmentHistory"] == history);
  CHECK(old["status"]["flavorFallback"] == workload["status"]["flavorFallback"]);
  CHECK(converted(old, QueueVersion::kV1Beta2)["status"]["flavorFallback"] == workload["status"]["flavorFallback"]);
}

}  // namespace conversion_test
