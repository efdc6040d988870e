// What webhooks and `muster review` tell a user to do works: the object is then accepted without that finding.
#include <doctest/doctest.h>

#include "test/commands/judged_object.h"

namespace webhook_remedies_test {

using namespace muster;
using namespace muster::commands;
using muster::test::judge;
using muster::test::texts_of;
using muster::test::yaml;
using nlohmann::json;

namespace {

constexpr const char* kJob =
    "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}, "
    "spec: "
    "{suspend: true, parallelism: 4, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";

struct Row {
  const char* cause;
  std::string object;
  const char* change;  // makes the object into one with the cause, by a merge patch
  const char* remedy;  // a part of the sentence
  const char* follow;  // does what it says
};

const std::string kPlainRay =
    "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: r, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
    "q}}, spec: {suspend: true, headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: h, image: "
    "i}]}}}}}";
const std::string kSpark =
    "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: s, namespace: a, labels: "
    "{kueue.x-k8s.io/queue-name: q}}, spec: {suspend: true, mode: cluster, driver: {cores: 1}, executor: {instances: "
    "1, "
    "cores: 1}}}";

// Of webhooks. A remedy can also be to give up what was asked for.
const Row kWebhooks[] = {
    {"Ray's autoscaler", kPlainRay, "{spec: {enableInTreeAutoscaling: true}}", "set enableInTreeAutoscaling to false",
     "{spec: {enableInTreeAutoscaling: false}}"},
    {"the same of an elastic job", kPlainRay,
     "{metadata: {annotations: {kueue.x-k8s.io/elastic-job: 'true'}}, spec: {enableInTreeAutoscaling: true}}",
     "set enableInTreeAutoscaling to false", "{spec: {enableInTreeAutoscaling: false}}"},
    {"Spark's dynamic allocation", kSpark, "{spec: {dynamicAllocation: {enabled: true}}}",
     "set spec.executor.instances", "{spec: {dynamicAllocation: null, executor: {instances: 4}}}"},
    {"Spark's pod template file", kSpark, "{spec: {sparkConf: {spark.kubernetes.driver.podTemplateFile: /f}}}",
     "use the template of the driver",
     "{spec: {sparkConf: null, driver: {template: {spec: {containers: [{name: spark-kubernetes-driver}]}}}}}"},
    {"the queue as an annotation", kJob, "{metadata: {labels: null, annotations: {kueue.x-k8s.io/queue-name: q}}}",
     "set the label kueue.x-k8s.io/queue-name", "{metadata: {labels: {kueue.x-k8s.io/queue-name: q}}}"},
    {"devices", kJob, "{spec: {template: {spec: {resourceClaims: [{name: gpu, resourceClaimName: g}]}}}}",
     "waits for ever; remove it", "{spec: {template: {spec: {resourceClaims: null}}}}"},
    {"a topology", kJob,
     "{spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}}",
     "waits for ever; remove the annotation", "{spec: {template: {metadata: null}}}"},
    {"an annotation that is not read", kJob, "{metadata: {annotations: {kueue.x-k8s.io/podset-topology-spreading: x}}}",
     "topologySpreadConstraints",
     "{metadata: {annotations: null}, spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: "
     "zone, whenUnsatisfiable: ScheduleAnyway}]}}}}"},
};

}  // namespace

TEST_CASE("remedies: an object that follows a sentence of the webhooks is accepted without it") {
  for (const Row& row : kWebhooks) {
    CAPTURE(row.cause);
    const json plain = yaml(row.object);
    json asked = plain;
    asked.merge_patch(yaml(row.change));
    const ReviewedObject before = judge(asked);
    INFO(texts_of(before));
    CHECK(texts_of(before).find(row.remedy) != std::string::npos);
    json followed = asked;
    followed.merge_patch(yaml(row.follow));
    const ReviewedObject after = judge(followed);
    INFO(texts_of(after));
    CHECK(after.allowed);
    CHECK(texts_of(after).find(row.remedy) == std::string::npos);
  }
}

}  // namespace webhook_remedies_test
