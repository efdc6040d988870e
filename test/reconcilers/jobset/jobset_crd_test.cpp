#include "reconcilers/jobset/jobset_crd.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace jobset_crd_test {

using namespace muster;
using namespace muster::reconcilers;
using nlohmann::json;

namespace {

const json kOwnRules = json::array(
    {{{"rule", "!(has(self.startupPolicy) && has(self.replicatedJobs))"}, {"message", "mutually exclusive"}}});

// A foreign controller's definition, in short.
json foreign_crd() {
  const json spec = {{"type", "object"},
                     {"properties", {{"suspend", {{"type", "boolean"}}}}},
                     {"x-kubernetes-validations", kOwnRules}};
  const json version = {{"name", "v1alpha2"},
                        {"served", true},
                        {"storage", true},
                        {"subresources", {{"status", json::object()}}},
                        {"schema", {{"openAPIV3Schema", {{"type", "object"}, {"properties", {{"spec", spec}}}}}}}};
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", manifests::kJobSetDefinitionName}, {"uid", "crd-uid"}, {"resourceVersion", "7"}}},
          {"spec", {{"group", "jobset.x-k8s.io"}, {"versions", json::array({version})}}}};
}

ReconcilerSettings beside_upstream() {
  ReconcilerSettings settings;
  settings.patch_jobset_crd = true;
  return settings;
}

Plan plan_for(const json& crd, const ReconcilerSettings& settings = beside_upstream()) {
  state::ClusterState state;
  if (!crd.is_null()) state.put(read_object(kCustomResourceDefinitions, crd));
  const state::SchedulerDriver decisions{QueueSettings()};
  return jobset_crd_reconciler.reconcile(
      {&kCustomResourceDefinitions, "", std::string(manifests::kJobSetDefinitionName)},
      {state, decisions, settings, {}});
}

json patched(json crd) {
  const Plan plan = plan_for(crd);
  REQUIRE(plan.writes.size() == 1);
  crd.merge_patch(plan.writes[0].body);
  return crd;
}

const json& spec_of(const json& crd) {
  return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
}

}  // namespace

TEST_CASE("jobset crd: the field and its rules are added and everything else stays") {
  const json before = foreign_crd();
  const Plan plan = plan_for(before);
  REQUIRE(plan.writes.size() == 1);
  CHECK(plan.writes[0].verb == Verb::kPatch);
  CHECK(plan.writes[0].body["metadata"]["resourceVersion"] == "7");
  REQUIRE(plan.writes[0].events.size() == 1);
  CHECK(plan.writes[0].events[0].type == kNormalEvent);
  CHECK(plan.writes[0].events[0].reason == "GroupSchedulingFieldAdded");
  CHECK(plan.writes[0].events[0].regarding.uid == "crd-uid");

  const json after = patched(before);
  const json& field = spec_of(after)["properties"]["groupSchedulingConfig"];
  CHECK(field["type"] == "object");
  CHECK(field["properties"]["timeoutAfterSeconds"]["minimum"] == 1);
  CHECK(field["properties"]["timeoutAfterSeconds"]["format"] == "int32");
  CHECK(field["properties"]["targetReplicatedJobs"]["type"] == "array");
  CHECK(field["properties"]["targetReplicatedJobs"]["maxItems"] > 0);
  CHECK(field["properties"]["onTimeout"]["enum"] == json({"Fail", "Suspend"}));
  CHECK(field["x-kubernetes-validations"][0]["rule"] == "self == oldSelf");
  const json& rules = spec_of(after)["x-kubernetes-validations"];
  REQUIRE(rules.size() == 2);
  CHECK(rules[0] == kOwnRules[0]);
  CHECK(rules[1]["rule"] == "has(self.groupSchedulingConfig) == has(oldSelf.groupSchedulingConfig)");

  json rest = after;
  json& spec = rest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  spec["properties"].erase("groupSchedulingConfig");
  spec["x-kubernetes-validations"].erase(1);
  rest["metadata"].erase("annotations");
  CHECK(rest == before);
}

TEST_CASE("jobset crd: once there it is left alone") {
  CHECK(plan_for(patched(foreign_crd())).writes.empty());
}

TEST_CASE("jobset crd: a definition that was installed anew gets the field again and a warning tells") {
  json crd = patched(foreign_crd());
  crd["spec"] = foreign_crd()["spec"];  // as client-side apply does: annotations of others stay
  const Plan plan = plan_for(crd);
  REQUIRE(plan.writes.size() == 1);
  REQUIRE(plan.writes[0].events.size() == 1);
  CHECK(plan.writes[0].events[0].type == kWarningEvent);
  CHECK(plan.writes[0].events[0].reason == "GroupSchedulingFieldLost");
  CHECK(plan_for(patched(crd)).writes.empty());
}

TEST_CASE("jobset crd: a field that differs is put right") {
  json crd = patched(foreign_crd());
  json& spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
  SUBCASE("in its schema") {
    spec["properties"]["groupSchedulingConfig"]["properties"].erase("onTimeout");
  }
  SUBCASE("in its rule") {
    spec["x-kubernetes-validations"].erase(1);
  }
  SUBCASE("in the rule's text") {
    spec["x-kubernetes-validations"][1]["message"] = "groupSchedulingConfig?";
  }
  const json after = patched(crd);
  CHECK(spec_of(after) == spec_of(patched(foreign_crd())));
}

namespace {

json entry_of(const char* manager, const char* operation, json fields) {
  return {{"manager", manager},
          {"operation", operation},
          {"apiVersion", "apiextensions.k8s.io/v1"},
          {"fieldsType", "FieldsV1"},
          {"fieldsV1", std::move(fields)}};
}

}  // namespace

// kubectl apply --server-side refuses to change fields of other managers.
TEST_CASE("jobset crd: muster gives up the ownership of the list of versions and of nothing else") {
  const json annotation = {{"f:annotations", {{"f:muster.batch/group-scheduling-field", json::object()}}}};
  const json theirs = entry_of("kubectl", "Apply", {{"f:spec", {{"f:names", json::object()}}}});
  const json server = entry_of("kube-apiserver", "Update", {{"f:status", json::object()}});
  json crd = patched(foreign_crd());
  crd["metadata"]["managedFields"] = json::array(
      {theirs, entry_of("muster", "Update", {{"f:metadata", annotation}, {"f:spec", {{"f:versions", {}}}}}), server});
  const Plan plan = plan_for(crd);
  REQUIRE(plan.writes.size() == 1);
  CHECK(plan.writes[0].verb == Verb::kPatch);
  CHECK(plan.writes[0].events.empty());
  CHECK(plan.writes[0].body ==
        json{{"metadata",
              {{"resourceVersion", "7"},
               {"managedFields", {theirs, entry_of("muster", "Update", {{"f:metadata", annotation}}), server}}}}});
  crd.merge_patch(plan.writes[0].body);
  CHECK(plan_for(crd).writes.empty());

  // An entry without fields is none.
  crd["metadata"]["managedFields"][1]["fieldsV1"] = {{"f:spec", {{"f:versions", {}}}}};
  const Plan other = plan_for(crd);
  REQUIRE(other.writes.size() == 1);
  CHECK(other.writes[0].body["metadata"]["managedFields"] == json{theirs, server});
}

TEST_CASE("jobset crd: a list of versions that muster has not changed stays with its owner") {
  json crd = foreign_crd();
  crd["metadata"]["managedFields"] =
      json::array({entry_of("muster", "Update", {{"f:spec", {{"f:versions", json::object()}}}})});
  ReconcilerSettings off = beside_upstream();
  off.patch_jobset_crd = false;
  CHECK(plan_for(crd, off).writes.empty());
  // The field comes first; the ownership that its patch takes is released after it.
  const Plan plan = plan_for(crd);
  REQUIRE(plan.writes.size() == 1);
  CHECK_FALSE(plan.writes[0].body["metadata"].contains("managedFields"));
}

TEST_CASE("jobset crd: other versions stay as they are") {
  json crd = foreign_crd();
  json other = crd["spec"]["versions"][0];
  other["name"] = "v1beta1";
  crd["spec"]["versions"].insert(crd["spec"]["versions"].begin(), other);
  const json after = patched(crd);
  CHECK(after["spec"]["versions"][0] == other);
  CHECK(after["spec"]["versions"][1] != crd["spec"]["versions"][1]);
}

TEST_CASE("jobset crd: when it does nothing") {
  json crd = foreign_crd();
  ReconcilerSettings settings = beside_upstream();
  SUBCASE("muster is the JobSet controller") {
    settings.queues.rules.jobset_mode = JobSetMode::kNative;
  }
  SUBCASE("the settings switch it off") {
    settings.patch_jobset_crd = false;
  }
  SUBCASE("there is no definition") {
    crd = nullptr;
  }
  SUBCASE("the definition is muster's own") {
    crd["metadata"]["labels"] = {{"app.kubernetes.io/name", "muster"}};
  }
  SUBCASE("it is being deleted") {
    crd["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  }
  SUBCASE("it has no v1alpha2") {
    crd["spec"]["versions"][0]["name"] = "v1";
  }
  SUBCASE("v1alpha2 has no schema") {
    crd["spec"]["versions"][0].erase("schema");
  }
  SUBCASE("it has no versions") {
    crd["spec"] = nullptr;
  }
  CHECK(plan_for(crd, settings).writes.empty());
}

TEST_CASE("jobset crd: only that one definition concerns it") {
  const state::ClusterState state;
  std::vector<ObjectKey> keys;
  json crd = foreign_crd();
  jobset_crd_reconciler.requests_for(state, read_object(kCustomResourceDefinitions, crd), keys);
  CHECK(keys.size() == 1);
  crd["metadata"]["name"] = "other.example.com";
  jobset_crd_reconciler.requests_for(state, read_object(kCustomResourceDefinitions, crd), keys);
  jobset_crd_reconciler.requests_for(state, read_object(kJobs, crd), keys);
  CHECK(keys.size() == 1);
}

TEST_CASE("jobset crd: a foreign one that replaces muster's own is told to its owner") {
  ReconcilerSettings settings = beside_upstream();
  settings.queues.rules.jobset_mode = JobSetMode::kNative;
  const Plan plan = plan_for(foreign_crd(), settings);
  REQUIRE(plan.events.size() == 1);
  CHECK(plan.events[0].reason == "ForeignJobSetDefinition");
  CHECK(plan.events[0].type == kWarningEvent);
  json own = foreign_crd();
  own["metadata"]["labels"] = {{"app.kubernetes.io/name", "muster"}};
  CHECK(plan_for(own, settings).events.empty());
}

}  // namespace jobset_crd_test
