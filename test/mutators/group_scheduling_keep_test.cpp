#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "mutators/group_scheduling.h"
#include "test/support/admission_requests.h"

namespace muster::mutators::group_scheduling_keep_test {
namespace {

using nlohmann::json;

json manifest(bool is_job) {
  if (is_job) {
    return json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "train", "annotations": {"muster.batch/group-scheduling-timeout-seconds": "60"}},
      "spec": {"suspend": true, "template": {"spec": {
          "initContainers": [{"name": "fetch"}], "containers": [{"name": "main"}], "volumes": [{"name": "data"}]}}}})");
  }
  return json::parse(R"({
    "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train"},
    "spec": {"suspend": true, "groupSchedulingConfig": {"timeoutAfterSeconds": 60, "targetReplicatedJobs": ["a"]},
      "replicatedJobs": [
        {"name": "a", "template": {"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}},
        {"name": "b", "template": {"spec": {"template": {"spec": {"containers": [{"name": "main"}]}}}}}]}})");
}

AdmissionRequest request_for(const json& object, const char* uid) {
  AdmissionRequest request = test::request_for(object);
  request.uid = uid;
  return request;
}

json apply(const Mutator& mutator, const AdmissionRequest& request) {
  const ClusterView view;
  const RuleSettings settings;
  json object = request.object;
  CHECK(!mutator.mutate({request, view, settings}, object).has_value());
  const json once = object;
  CHECK(!mutator.mutate({request, view, settings}, object).has_value());
  CHECK(object == once);
  return object;
}

// A gang as the API server has it: made by an older muster, with defaults filled in.
json stored(bool is_job) {
  json object = apply(group_scheduling_inject, request_for(manifest(is_job), "created"));
  json& first =
      is_job ? object["spec"]["template"] : object["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
  first["spec"]["initContainers"].back()["image"] = "muster:of-another-age";
  first["spec"]["initContainers"].back()["terminationMessagePolicy"] = "File";
  first["spec"]["volumes"].back()["configMap"]["defaultMode"] = 420;
  return object;
}

json updated(const json& old_object, const json& object) {
  AdmissionRequest request = request_for(object, "updated");
  request.operation = Operation::kUpdate;
  request.old_object = old_object;
  return apply(group_scheduling_keep, request);
}

json& first_template(json& object) {
  return object["kind"] == "Job" ? object["spec"]["template"]
                                 : object["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
}

std::string epoch_of(json object) {
  return std::string(annotation(first_template(object), kGroupEpochAnnotation).value_or("none"));
}

TEST_CASE("re-applying the manifest restores exactly what was injected") {
  for (bool is_job : {false, true}) CHECK(updated(stored(is_job), manifest(is_job)) == stored(is_job));
}

TEST_CASE("an update that changes nothing of ours is not edited") {
  for (bool is_job : {false, true}) {
    json object = stored(is_job);
    object["metadata"]["labels"]["team"] = "a";
    CHECK(updated(stored(is_job), object) == object);
  }
}

TEST_CASE("edits of the barrier and of its epoch are undone") {
  json object = stored(true);
  json& pod_template = first_template(object);
  pod_template["spec"]["initContainers"][1]["image"] = "muster:newer";
  pod_template["spec"]["volumes"][1]["configMap"]["name"] = "other.job-group-scheduling";
  pod_template["metadata"]["annotations"][std::string(kGroupEpochAnnotation)] = "forged";
  CHECK(updated(stored(true), object) == stored(true));
}

TEST_CASE("nothing is injected that the old object lacks") {
  for (bool is_job : {false, true}) {
    json object = manifest(is_job);
    object["spec"]["suspend"] = false;
    CHECK(updated(manifest(is_job), object) == object);
  }
}

TEST_CASE("a stranger under a reserved name is left for the validators") {
  json object = manifest(true);
  object["spec"]["template"]["spec"]["initContainers"] = {{{"name", "group-scheduling-init"}, {"image", "mine"}}};
  object["spec"]["template"]["spec"]["volumes"] = {{{"name", "group-scheduling"}, {"emptyDir", json::object()}}};
  const json after = updated(stored(true), object);
  CHECK(after["spec"]["template"]["spec"] == object["spec"]["template"]["spec"]);
}

TEST_CASE("replicated jobs are matched by name") {
  json object = manifest(false);
  std::swap(object["spec"]["replicatedJobs"][0], object["spec"]["replicatedJobs"][1]);
  const json after = updated(stored(false), object);
  CHECK(after["spec"]["replicatedJobs"][0] == object["spec"]["replicatedJobs"][0]);
  CHECK(after["spec"]["replicatedJobs"][1] == stored(false)["spec"]["replicatedJobs"][0]);
}

TEST_CASE("a resumed JobSet runs under a new epoch in its targets only") {
  json object = stored(false);
  object["spec"]["suspend"] = false;
  const json after = updated(stored(false), object);
  CHECK(epoch_of(after) == "updated");
  CHECK(after["spec"]["replicatedJobs"][1] == object["spec"]["replicatedJobs"][1]);

  // Also when the manifest that resumes it says nothing of suspend or of the barrier.
  json applied = manifest(false);
  applied["spec"].erase("suspend");
  CHECK(epoch_of(updated(stored(false), applied)) == "updated");
}

TEST_CASE("no other change of suspend makes a new epoch") {
  json running = stored(false);
  running["spec"]["suspend"] = false;
  CHECK(epoch_of(updated(running, running)) == "created");
  CHECK(epoch_of(updated(running, stored(false))) == "created");
  CHECK(epoch_of(updated(stored(false), stored(false))) == "created");
}

struct Row {
  std::string name;
  const char* status;  // of the suspended Job
  const char* epoch;
};

const Row kRows[] = {
    {"never started", "{}", "updated"},
    {"started once and its suspension has come to rest",
     R"({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "True"}]})", "updated"},
    {"at rest with a count of zero",
     R"({"startTime": "2026-01-01T00:00:00Z", "active": 0, "conditions": [{"type": "Suspended", "status": "True"}]})",
     "updated"},
    {"suspended with pods that still run",
     R"({"startTime": "2026-01-01T00:00:00Z", "active": 1, "conditions": [{"type": "Suspended", "status": "True"}]})",
     "created"},
    {"suspended but not yet noticed by its controller", R"({"startTime": "2026-01-01T00:00:00Z", "active": 2})",
     "created"},
    {"resumed in between",
     R"({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "False"}]})", "created"},
    {"without a start time while a pod is left", R"({"active": 1})", "created"},
};

TEST_CASE("a resumed Job gets a new epoch only where its template may change") {
  for (const Row& row : kRows) {
    INFO(row.name);
    json old_object = stored(true);
    old_object["status"] = json::parse(row.status);
    json object = old_object;
    object["spec"]["suspend"] = false;
    CHECK(epoch_of(updated(old_object, object)) == row.epoch);
  }
}

TEST_CASE("a Job inside a gang JobSet belongs to the JobSet's controller") {
  json old_object = stored(true);
  old_object["metadata"].erase("annotations");
  first_template(old_object)["spec"]["volumes"][1]["configMap"]["name"] = "jobset-group-scheduling";
  json object = old_object;
  object["spec"]["suspend"] = false;
  first_template(object)["metadata"]["annotations"][std::string(kGroupEpochAnnotation)] = "of-the-jobset";
  CHECK(updated(old_object, object) == object);
}

TEST_CASE("a gang whose configuration was pruned keeps its barrier and still gets new epochs") {
  json old_object = stored(false);
  old_object["spec"].erase("groupSchedulingConfig");
  json object = manifest(false);
  object["spec"].erase("groupSchedulingConfig");
  CHECK(updated(old_object, object) == old_object);
  object["spec"]["suspend"] = false;
  CHECK(epoch_of(updated(old_object, object)) == "updated");
}

}  // namespace
}  // namespace muster::mutators::group_scheduling_keep_test
