// Rules see objects before the API server's schema does (CRDs are validated after
// mutation), so no shape of JSON can break them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/job_kind.h"
#include "mutators/mutator.h"
#include "test/support/admission_requests.h"
#include "validators/validator.h"

namespace malformed_objects_test {

using namespace muster;
using namespace muster::validators;
using nlohmann::json;

namespace {

json reasonable(const jobs::JobKind& kind) {
  json object = json::parse(R"({
      "metadata": {"name": "train", "namespace": "team-a", "uid": "u",
          "labels": {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "p",
              "kueue.x-k8s.io/max-exec-time-seconds": "1"},
          "annotations": {"kueue.x-k8s.io/elastic-job": "true", "kueue.x-k8s.io/job-min-parallelism": "1",
              "kueue.x-k8s.io/admission-gated-by": "a/b", "muster.batch/group-scheduling-timeout-seconds": "10"},
          "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b", "controller": true}]},
      "spec": {"suspend": true, "managedBy": "x", "parallelism": 1, "completions": 1, "completionMode": "Indexed",
          "template": {"metadata": {"annotations": {"kueue.x-k8s.io/podset-slice-size": "1"}},
              "spec": {"schedulingGates": [{"name": "a"}], "containers": [{"name": "main"}],
                  "initContainers": [{"name": "init"}], "volumes": [{"name": "v"}]}}}})");
  object["apiVersion"] = std::string(kind.type.group) + "/" + std::string(kind.type.version);
  object["kind"] = kind.type.kind;
  if (&kind == &jobs::jobset) {
    json pod_template = object["spec"]["template"];
    object["spec"].erase("template");
    object["spec"]["replicatedJobs"] =
        json::array({{{"name", "workers"}, {"replicas", 1}, {"template", {{"spec", {{"template", pod_template}}}}}}});
    object["spec"].update(json::parse(R"({"network": {"subdomain": "net"}, "coordinator": {"replicatedJob": "workers"},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["workers"]},
        "failurePolicy": {"restartStrategy": "InPlaceRestart", "rules": [{"name": "r", "action": "RestartJob",
            "onJobFailureReasons": ["PodFailurePolicy"], "targetReplicatedJobs": ["workers"]}]},
        "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "data"}}]}]})"));
    object["spec"]["groupSchedulingConfig"] = {{"timeoutAfterSeconds", 10}, {"targetReplicatedJobs", {"workers"}}};
  }
  return object;
}

// Every place of a value, as JSON pointers.
void collect_places(const json& value, const json::json_pointer& at, std::vector<json::json_pointer>& places) {
  places.push_back(at);
  if (value.is_object()) {
    for (const auto& [key, child] : value.items()) collect_places(child, at / key, places);
  }
  if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) collect_places(value[i], at / i, places);
  }
}

void run_everything(const jobs::JobKind& kind, const json& object, const json& old_object, Operation operation) {
  AdmissionRequest request = test::request_for(kind.type, object, old_object);
  request.operation = operation;
  const ClusterView view;
  RuleSettings native;
  native.jobset_mode = JobSetMode::kNative;
  native.jobset_feature_gates = {
      {"ElasticJobSet", true}, {"InPlaceRestart", true}, {"JobSetActiveDeadlineSeconds", true}, {"RestartJob", true}};
  for (const RuleSettings& settings : {RuleSettings{}, native}) {
    const AdmissionResponse mutated = mutators::mutate({request, view, settings});
    const AdmissionResponse validated = validate({request, view, settings});
    CHECK(mutated.is_allowed() == mutated.message().empty());
    CHECK(validated.is_allowed() == validated.errors().empty());
  }
}

}  // namespace

TEST_CASE("no rule is broken by a value of another type in any place of an object") {
  const json others[] = {nullptr,
                         true,
                         -1,
                         1.5,
                         "text",
                         json::array(),
                         json::object(),
                         json::array({1}),
                         json{{"name", 1}},
                         uint64_t{18446744073709551615u}};
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    const json original = reasonable(*kind);
    std::vector<json::json_pointer> places;
    for (const auto& [key, child] : original.items()) collect_places(child, json::json_pointer("/" + key), places);
    for (const auto& place : places) {
      for (const json& other : others) {
        INFO(kind->type.kind, " ", place.to_string(), " = ", other.dump());
        json changed = original;
        changed[place] = other;
        run_everything(*kind, changed, json(), Operation::kCreate);
        run_everything(*kind, changed, original, Operation::kUpdate);
        run_everything(*kind, original, changed, Operation::kUpdate);
      }
    }
  }
}

}  // namespace malformed_objects_test
