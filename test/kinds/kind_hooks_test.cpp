// What the code of some kinds reads, where the vectors have no line: attacks and odd objects.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/yaml.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"

namespace kind_hooks_test {

using namespace muster;
using nlohmann::json;

namespace {

DescribedJobPtr read(const char* group, const char* kind, const std::string& text) {
  return read_described_job(*find_described_kind(group, kind), read_yaml(text)->at(0).value);
}

const std::string kPod = "{spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}";

}  // namespace

TEST_CASE("hooks: a hook that does not exist is refused with the names of those that do") {
  const auto kind = read_kind_description(read_yaml("{apiVersion: config.muster.batch/v1alpha1, kind: JobKind, "
                                                    "framework: a/b, group: a.b, version: v1, kindName: C, "
                                                    "resource: cs, suspend: spec.suspend, hook: sail, podSets: [{name: "
                                                    "p, path: spec}], active: {condition: A}, ready: "
                                                    "{condition: R}}")
                                              ->at(0)
                                              .value);
  REQUIRE_FALSE(kind.ok());
  CHECK(kind.error()[0].field == "hook");
  CHECK(kind.error()[0].detail.find("appwrapper, ray, spark, trainjob") != std::string::npos);
}

TEST_CASE("hooks: a Ray group of the head's name in other letters keeps the cluster out of its queue") {
  const auto job = read("ray.io", "RayCluster",
                        "{spec: {headGroupSpec: {template: " + kPod +
                            "}, workerGroupSpecs: [{groupName: HEAD, template: " + kPod + "}]}}");
  CHECK(job->unreadable.find("two pod sets of the name") != std::string::npos);
}

TEST_CASE("hooks: hosts and replicas of Ray groups multiply, and never to little") {
  const auto count = [](const std::string& group) {
    const auto job = read("ray.io", "RayCluster",
                          "{spec: {headGroupSpec: {template: " + kPod +
                              "}, workerGroupSpecs: [{groupName: g, template: " + kPod + ", " + group + "}]}}");
    return job->pod_sets.at(1).count;
  };
  CHECK(count("replicas: 3, numOfHosts: 4") == 12);
  CHECK(count("replicas: 3, numOfHosts: 0") == 3);
  CHECK(count("replicas: 2147483647, numOfHosts: 2147483647") == 2147483647);
  CHECK(count("replicas: many") == 2147483647);
}

TEST_CASE("hooks: what Redis' clean-up needs is raised from limits, where there are no requests") {
  const auto job =
      read("ray.io", "RayCluster",
           "{spec: {gcsFaultToleranceOptions: {}, headGroupSpec: {template: {spec: {containers: [{name: c, "
           "resources: {limits: {cpu: 4}}}]}}}}}");
  const ResourceList& requests = job->pod_sets.at(0).pod_template.spec->containers.at(0).resources.requests;
  CHECK(requests.at("cpu").text() == "4");
  CHECK(requests.at("memory").text() == "256Mi");
}

TEST_CASE("hooks: the status of an AppWrapper never makes it smaller") {
  const std::string spec =
      "spec: {components: [{template: {apiVersion: batch/v1, kind: Job, spec: {parallelism: 5, "
      "template: " +
      kPod + "}}}]}";
  const auto count = [&](const std::string& status) {
    const auto job = read("workload.codeflare.dev", "AppWrapper", "{metadata: {name: w}, " + spec + status + "}");
    REQUIRE(job->pod_sets.size() == 1);
    return job->pod_sets[0].count;
  };
  CHECK(count("") == 5);
  CHECK(count(", status: {componentStatus: [{podSets: [{path: template.spec.template, replicas: 1}]}]}") == 5);
  CHECK(count(", status: {componentStatus: [{podSets: [{path: template.spec.template, replicas: 7}]}]}") == 7);
  CHECK(count(", status: {componentStatus: [{podSets: []}]}") == 5);
  CHECK(count(", status: {componentStatus: [{podSets: [{path: template.nowhere, replicas: 7}]}]}") == 5);
}

TEST_CASE("hooks: an AppWrapper that declares fewer pods than it makes is told so") {
  const auto errors = [](const std::string& component) {
    return find_kind_hook("appwrapper")
        ->uncounted_pods(read_yaml("{spec: {components: [" + component + "]}}")->at(0).value);
  };
  const std::string job = "template: {apiVersion: batch/v1, kind: Job, spec: {parallelism: 5, template: " + kPod + "}}";
  CHECK(errors("{" + job + "}").empty());
  CHECK(errors("{podSets: [{path: template.spec.template, replicas: 5}], " + job + "}").empty());
  const FieldErrors few = errors("{podSets: [{path: template.spec.template, replicas: 4}], " + job + "}");
  REQUIRE(few.size() == 1);
  CHECK(few[0].text() ==
        "spec.components[0].podSets: Forbidden: counts 4 pods, and the component makes 5; leave podSets "
        "out, or count them all");
  const FieldErrors nowhere = errors("{podSets: [{path: template.spec.nowhere, replicas: 9}], " + job + "}");
  REQUIRE(nowhere.size() == 2);
  CHECK(nowhere[0].field == "spec.components[0].podSets[0].path");
}

TEST_CASE("hooks: more components than a Workload can have pod sets keep an AppWrapper out of its queue") {
  std::string components;
  for (int i = 0; i < 100; ++i) components += "{template: {apiVersion: v1, kind: Pod, spec: {containers: []}}}, ";
  const auto job =
      read("workload.codeflare.dev", "AppWrapper", "{metadata: {name: w}, spec: {components: [" + components + "]}}");
  CHECK(job->unreadable == "it has more than 18 pod sets");
  CHECK(job->pod_sets.size() <= KindDescription::kMostPodSets + 1);
}

TEST_CASE("hooks: a TrainJob has no pod sets before its runtime is known") {
  const KindDescription* kind = find_described_kind("trainer.kubeflow.org", "TrainJob");
  DescribedJob job = *read_described_job(
      *kind, read_yaml("{spec: {runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}}}")
                 ->at(0)
                 .value);
  CHECK_FALSE(job.awaited.empty());
  CHECK(job.pod_sets.empty());
  kind->hook->consult([](const ConsultedKind&, std::string_view) { return static_cast<const json*>(nullptr); }, job);
  CHECK(job.awaited == "runtime 'rt' not found");
}

TEST_CASE("hooks: a runtime of odd shape breaks nothing") {
  const KindDescription* kind = find_described_kind("trainer.kubeflow.org", "TrainJob");
  const json object = read_yaml(
                          "{spec: {runtimeRef: {apiGroup: trainer.kubeflow.org, kind: TrainingRuntime, name: rt}, "
                          "trainer: {image: i, env: "
                          "[{name: A}]}, runtimePatches: [{trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
                          "[{name: node, template: "
                          "{spec: {template: {spec: 5}}}}]}}}}]}}")
                          ->at(0)
                          .value;
  for (const char* odd :
       {"5", "{spec: 5}", "{spec: {template: 5}}", "{spec: {template: {spec: 5}}}",
        "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: 5}",
        "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: "
        "{spec: {containers: {name: node}}}}}",
        "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: "
        "{spec: {containers: [{name: node, env: 5}, 5]}}}}"}) {
    INFO(odd);
    const json runtime =
        read_yaml(std::string("{spec: {template: {spec: {replicatedJobs: [{name: node, template: ") + odd + "}, 7]}}}}")
            ->at(0)
            .value;
    DescribedJob job = *read_described_job(*kind, object);
    kind->hook->consult([&](const ConsultedKind&, std::string_view) { return &runtime; }, job);
    CHECK(job.pod_sets.size() == 1);
  }
}

TEST_CASE("hooks: a patch that nests without end is merged as deep as pods are, and no deeper") {
  const KindDescription* kind = find_described_kind("trainer.kubeflow.org", "TrainJob");
  json deep = json::object();
  for (int i = 0; i < 5000; ++i) deep = json{{"x", std::move(deep)}};
  const json patch = {
      {"trainingRuntimeSpec",
       {{"template",
         {{"spec", {{"replicatedJobs", {{{"name", "node"}, {"template", {{"spec", {{"template", deep}}}}}}}}}}}}}}};
  const json object = {
      {"spec",
       {{"runtimeRef", {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "TrainingRuntime"}, {"name", "rt"}}},
        {"runtimePatches", {patch}}}}};
  DescribedJob job = *read_described_job(*kind, object);
  const json runtime = {
      {"spec",
       {{"template",
         {{"spec", {{"replicatedJobs", {{{"name", "node"}, {"template", {{"spec", {{"template", deep}}}}}}}}}}}}}}};
  kind->hook->consult([&](const ConsultedKind&, std::string_view) { return &runtime; }, job);
  CHECK(job.pod_sets.size() == 1);
}

}  // namespace kind_hooks_test
