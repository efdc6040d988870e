// What a start of a described kind writes beside its suspension.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "jobs/queued_job.h"
#include "kinds/kind_description.h"

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

namespace {

// Where a pod template, Spark's properties and the application say where pods run.
const char* const kSpread = R"(
metadata: {name: s, namespace: a, uid: u}
spec:
  suspend: true
  mode: cluster
  nodeSelector: {zone: a, role: application}
  sparkConf:
    spark.kubernetes.node.selector.pool: general
    spark.kubernetes.node.selector.zone: b
    spark.kubernetes.driver.node.selector.pool: drivers
  driver:
    cores: 1
    nodeSelector: {role: own}
    tolerations: [{key: own}]
    template:
      spec:
        nodeSelector: {disk: fast, pool: template}
        tolerations: [{key: template}]
        affinity: {nodeAffinity: {}}
        priorityClassName: high
        containers: [{name: spark-kubernetes-driver}]
  executor: {instances: 1, cores: 1, priorityClassName: low}
)";

}  // namespace

TEST_CASE("pods of a SparkApplication run where its template, its properties and the application say") {
  const JobKind& kind = *find_job_kind("sparkoperator.k8s.io", "SparkApplication");
  const TypedObject typed = read_object(kind.type, yaml(kSpread));
  const QueuedJob job(kind, typed);
  const std::vector<PodSet> pod_sets = job.pod_sets({});
  REQUIRE(pod_sets.size() == 2);
  const json driver = json::parse(pod_sets[0].pod_template.spec->text);
  const json executor = json::parse(pod_sets[1].pod_template.spec->text);
  CHECK(driver["nodeSelector"] == json{{"disk", "fast"}, {"pool", "drivers"}, {"zone", "a"}, {"role", "own"}});
  CHECK(executor["nodeSelector"] == json{{"pool", "general"}, {"zone", "a"}, {"role", "application"}});
  CHECK(driver["tolerations"] == yaml("[{key: template}, {key: own}]"));
  CHECK(driver["affinity"] == yaml("{nodeAffinity: {}}"));
  CHECK(driver["priorityClassName"] == "high");
  CHECK(executor["priorityClassName"] == "low");
}

TEST_CASE("a SparkApplication that was stopped has its own fields again, without those of its template") {
  const JobKind& kind = *find_job_kind("sparkoperator.k8s.io", "SparkApplication");
  json object = yaml(kSpread);
  const TypedObject before = read_object(kind.type, object);
  std::vector<PodSetInfo> stored;
  for (const PodSet& pod_set : QueuedJob(kind, before).pod_sets({})) stored.push_back(info_of_pod_set(pod_set));
  PodSetInfo driver, executor;
  driver.name = "driver";
  executor.name = "executor";
  driver.node_selector = executor.node_selector = {{"flavor", "spot"}};
  driver.tolerations = executor.tolerations = read_tolerations(yaml("[{key: spot}]"));
  const auto started = QueuedJob(kind, before).start_patch({driver, executor});
  REQUIRE(started.ok());
  object.merge_patch(*started);
  CHECK(object["spec"]["driver"]["nodeSelector"] == json{{"zone", "a"}, {"role", "own"}, {"flavor", "spot"}});
  const TypedObject running = read_object(kind.type, object);
  object.merge_patch(QueuedJob(kind, running).restore_patch(stored));
  CHECK(object["spec"]["driver"]["nodeSelector"] == json{{"zone", "a"}, {"role", "own"}});
  CHECK(object["spec"]["driver"]["tolerations"] == yaml("[{key: own}]"));
  CHECK(object["spec"]["executor"]["nodeSelector"] == json{{"zone", "a"}, {"role", "application"}});
  CHECK_FALSE(object["spec"]["executor"].contains("tolerations"));
  // The pods are those of before.
  const TypedObject stopped = read_object(kind.type, object);
  const auto same = [&](size_t i) {
    const PodSetInfo info = info_of_pod_set(QueuedJob(kind, stopped).pod_sets({})[i]);
    return info.node_selector == stored[i].node_selector && info.tolerations == stored[i].tolerations;
  };
  CHECK(same(0));
  CHECK(same(1));
}

}  // namespace described_edits_test
