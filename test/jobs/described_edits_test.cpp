// What a start of a described kind writes beside its suspension.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "jobs/queued_job.h"

namespace described_edits_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

namespace {

json yaml(const std::string& text) {
  return read_yaml(text)->at(0).value;
}

}  // namespace

TEST_CASE("a started TrainJob keeps the tolerations of its runtime beside those of its flavor") {
  const JobKind& kind = *find_job_kind("trainer.kubeflow.org", "TrainJob");
  const json runtime = yaml(R"(
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node}], tolerations: [{key: runtime, operator: Exists}]}}}}
      - name: other
        template: {spec: {template: {spec: {containers: [{name: c}]}}}}
)");
  json object = yaml(R"(
metadata: {name: t, namespace: a, uid: u}
spec:
  suspend: true
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}
  runtimePatches:
  - manager: user
    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: other, template: {spec: {template: {spec: {tolerations: [{key: user}]}}}}}]}}}
  - manager: kueue.x-k8s.io/manager
    trainingRuntimeSpec: {template: {spec: {}}}
)");
  PodSetInfo node, other;
  node.name = "node";
  other.name = "other";
  node.tolerations = read_tolerations(yaml("[{key: flavor}, {key: runtime, operator: Exists}]"));
  other.tolerations = read_tolerations(yaml("[{key: flavor}]"));
  const auto started = [&](const json& job, const std::vector<PodSetInfo>& infos) {
    const TypedObject typed = read_object(kind.type, job);
    const QueuedJob queued(kind, typed, [&](const ConsultedKind&, std::string_view) { return &runtime; });
    auto patch = queued.start_patch(infos);
    REQUIRE(patch.ok());
    return *patch;
  };
  json patch = started(object, {node, other});
  object.merge_patch(patch);
  const json& replicated =
      array_at(object["spec"]["runtimePatches"][1], {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"});
  const auto keys = [&](size_t i) {
    std::vector<std::string> found;
    for (const json& each : array_at(replicated[i], {"template", "spec", "template", "spec", "tolerations"}))
      found.push_back(each["key"]);
    return found;
  };
  CHECK(keys(0) == std::vector<std::string>{"runtime", "flavor"});
  CHECK(keys(1) == std::vector<std::string>{"user", "flavor"});
  // The second step of the same start resumes it.
  CHECK(started(object, {node, other}) == json{{"spec", {{"suspend", false}}}});
  // Another admission leaves nothing of the one before.
  other.tolerations = read_tolerations(yaml("[{key: second}]"));
  object.merge_patch(started(object, {node, other}));
  CHECK(array_at(object["spec"]["runtimePatches"][1],
                 {"trainingRuntimeSpec", "template", "spec",
                  "replicatedJobs"})[1]["template"]["spec"]["template"]["spec"]["tolerations"] ==
        yaml("[{key: user}, {key: second}]"));
}

}  // namespace described_edits_test
