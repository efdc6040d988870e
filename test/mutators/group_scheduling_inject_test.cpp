#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "mutators/group_scheduling.h"
#include "test/support/admission_requests.h"

namespace muster::mutators::group_scheduling_inject_test {
namespace {

using nlohmann::json;

constexpr const char* kUid = "0f6b4a3e-0000-4000-8000-000000000001";

// KEP-498's second story.
json two_jobs() {
  return json::parse(R"({
    "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "my-jobset"},
    "spec": {
      "groupSchedulingConfig": {"timeoutAfterSeconds": 300, "targetReplicatedJobs": ["workers"]},
      "replicatedJobs": [
        {"name": "workers", "replicas": 3, "template": {"spec": {"template": {"spec": {
            "initContainers": [{"name": "fetch", "image": "fetch"}],
            "containers": [{"name": "pytorch", "image": "pytorch/pytorch:latest"}]}}}}},
        {"name": "auxiliary", "template": {"spec": {"template": {"spec": {
            "containers": [{"name": "auxiliary", "image": "python:3.10"}]}}}}}]}})");
}

json gang_job() {
  return json::parse(R"({
    "apiVersion": "batch/v1", "kind": "Job",
    "metadata": {"name": "train", "annotations": {"muster.batch/group-scheduling-timeout-seconds": "60"}},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "train"}]}}}})");
}

AdmissionRequest create(const json& object, const char* uid = kUid) {
  AdmissionRequest request = test::request_for(object);
  request.uid = uid;
  return request;
}

json injected(const AdmissionRequest& request) {
  const ClusterView view;
  const RuleSettings settings;
  json object = request.object;
  CHECK(!group_scheduling_inject.mutate({request, view, settings}, object).has_value());
  return object;
}

const json& template_of(const json& object, size_t i) {
  return object["spec"]["replicatedJobs"][i]["template"]["spec"]["template"];
}

TEST_CASE("a target's pod template gets the waiter last and its volume and the epoch") {
  const json object = injected(create(two_jobs()));
  const json& workers = template_of(object, 0);
  REQUIRE(workers["spec"]["initContainers"].size() == 2);
  CHECK(workers["spec"]["initContainers"][0]["name"] == "fetch");
  CHECK(workers["spec"]["initContainers"][1]["name"] == "group-scheduling-init");
  CHECK(jobs::find_waiter(workers) == 1);
  CHECK(workers["spec"]["volumes"] == json::parse(R"([{"name": "group-scheduling",
                         "configMap": {"name": "my-jobset-group-scheduling", "optional": true}}])"));
  CHECK(annotation(workers, kGroupEpochAnnotation) == kUid);
  CHECK(template_of(object, 1) == template_of(two_jobs(), 1));
}

TEST_CASE("without a list of targets every replicated job is one") {
  json object = two_jobs();
  object["spec"]["groupSchedulingConfig"].erase("targetReplicatedJobs");
  object = injected(create(object));
  CHECK(jobs::find_waiter(template_of(object, 0)) == 1);
  CHECK(jobs::find_waiter(template_of(object, 1)) == 0);
}

TEST_CASE("a Job with the annotation gets its barrier under a name of its own") {
  const json object = injected(create(gang_job()));
  CHECK(jobs::find_waiter(object["spec"]["template"]) == 0);
  CHECK(object["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] == "train.job-group-scheduling");
  CHECK(annotation(object["spec"]["template"], kGroupEpochAnnotation) == kUid);
}

TEST_CASE("the pods bear a label by which they are found and the action where it is not the default") {
  json object = gang_job();
  CHECK(injected(create(object))["spec"]["template"]["metadata"]["labels"] == json{{kGroupLabel, "true"}});
  CHECK_FALSE(annotation(injected(create(object))["spec"]["template"], kGroupOnTimeoutAnnotation).has_value());

  object["metadata"]["annotations"][std::string(kGroupOnTimeoutAnnotation)] = "Suspend";
  const json suspending = injected(create(object));
  CHECK(annotation(suspending["spec"]["template"], kGroupOnTimeoutAnnotation) == "Suspend");
  CHECK(injected(create(suspending)) == suspending);

  // Copied from there into a gang that shall fail.
  json copy = suspending;
  copy["metadata"]["annotations"][std::string(kGroupOnTimeoutAnnotation)] = "Fail";
  CHECK_FALSE(annotation(injected(create(copy))["spec"]["template"], kGroupOnTimeoutAnnotation).has_value());
}

TEST_CASE("injecting twice changes nothing more") {
  for (const json& object : {two_jobs(), gang_job()}) {
    const json once = injected(create(object));
    CHECK(injected(create(once)) == once);
  }
}

TEST_CASE("what another webhook put behind the waiter ends up before it") {
  json object = injected(create(two_jobs()));
  json& list = object["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["initContainers"];
  list.push_back({{"name", "mesh"}, {"image", "mesh"}});
  const json again = injected(create(object, "another-uid"));
  CHECK(jobs::find_waiter(template_of(again, 0)) == 2);
  CHECK(template_of(again, 0)["spec"]["initContainers"][1]["name"] == "mesh");
  CHECK(template_of(again, 0)["spec"]["volumes"].size() == 1);
  CHECK(annotation(template_of(again, 0), kGroupEpochAnnotation) == "another-uid");
}

TEST_CASE("a manifest copied from another gang gets a barrier of its own") {
  json copy = injected(create(two_jobs()));
  copy["metadata"]["name"] = "copy";
  const json object = injected(create(copy, "second-uid"));
  CHECK(template_of(object, 0)["spec"]["initContainers"].size() == 2);
  CHECK(template_of(object, 0)["spec"]["volumes"] == json::parse(R"([{"name": "group-scheduling",
                         "configMap": {"name": "copy-group-scheduling", "optional": true}}])"));
}

TEST_CASE("a generated name is settled before the ConfigMap takes it") {
  json object = gang_job();
  object["metadata"].erase("name");
  object["metadata"]["generateName"] = "train-";
  const json first = injected(create(object));
  const std::string name = first["metadata"]["name"];
  CHECK(name.size() == 11);
  CHECK(name.starts_with("train-"));
  CHECK(name.find_first_not_of("bcdfghjklmnpqrstvwxz2456789-train") == std::string::npos);
  CHECK(first["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"] == name + ".job-group-scheduling");
  CHECK(injected(create(object))["metadata"]["name"] == name);
  CHECK(injected(create(object, "another-uid"))["metadata"]["name"] != name);

  // Reinvoked under another uid, the name that was given stays.
  CHECK(injected(create(first, "another-uid"))["metadata"]["name"] == name);

  object["metadata"]["generateName"] = std::string(70, 'a');
  const std::string longest = injected(create(object))["metadata"]["name"];
  CHECK(longest.size() == 63);
}

TEST_CASE("what is no gang or no usable one is left alone") {
  std::vector<json> untouched(6, two_jobs());
  untouched[0]["spec"].erase("groupSchedulingConfig");
  untouched[1]["spec"]["groupSchedulingConfig"]["timeoutAfterSeconds"] = 0;
  untouched[2]["spec"]["groupSchedulingConfig"]["targetReplicatedJobs"] = {"nobody"};
  untouched[3]["metadata"].erase("name");
  untouched[4]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["volumes"] = "odd";
  untouched[5]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] = 5;
  for (const json& object : untouched) {
    INFO(object.dump());
    const json after = injected(create(object));
    CHECK(!jobs::find_waiter(after["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]).has_value());
  }
  CHECK(injected(create(untouched[0])) == untouched[0]);
}

}  // namespace
}  // namespace muster::mutators::group_scheduling_inject_test
