// What webhooks, `muster review` and `muster preflight` tell a user to do works: the object is then accepted without
// that finding.
#include <doctest/doctest.h>

#include <algorithm>

#include "api/codec/yaml.h"
#include "commands/moving/rules/preflight.h"
#include "commands/review/review_judge.h"
#include "jobs/job_kind.h"

namespace remedies_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

namespace {

json yaml(const std::string& text) {
  const auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  return documents->at(0).value;
}

RuleSettings every_kind() {
  RuleSettings settings;
  for (const jobs::JobKind* kind : jobs::job_kinds()) settings.frameworks.emplace(kind->framework);
  return settings;
}

ReviewedObject judge(const json& object, const json& old = nullptr, const RuleSettings& settings = every_kind()) {
  JudgedRequest request;
  request.object = object;
  request.old_object = old;
  request.operation = old.is_null() ? Operation::kCreate : Operation::kUpdate;
  ClusterView view;
  view.put({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "a"}}}});
  return judge_manifest(request, view, settings);
}

std::string texts_of(const ReviewedObject& reviewed) {
  std::string texts;
  for (const ReviewFinding& finding : reviewed.findings) texts += finding.text() + "\n";
  return texts;
}

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
     "waits for ever; leave it out", "{spec: {template: {spec: {resourceClaims: null}}}}"},
    {"a topology", kJob,
     "{spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}}",
     "waits for ever; leave it out", "{spec: {template: {metadata: null}}}"},
    {"an annotation that is not read", kJob, "{metadata: {annotations: {kueue.x-k8s.io/podset-topology-spreading: x}}}",
     "topologySpreadConstraints",
     "{metadata: {annotations: null}, spec: {template: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: "
     "zone, whenUnsatisfiable: ScheduleAnyway}]}}}}"},
};

struct PreflightRow {
  const char* rule;
  const char* remedy;  // a part of it
  std::string before;
  // The cluster afterwards. An object of the same name is updated, and the webhook accepts that.
  std::string after;
};

const std::string kFlavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\n";
const std::string kQueue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n";
const std::string kQueued = "metadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\n";
const std::string kCheck = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: c}\n";

std::string flavors_of(const char* flavor) {
  return "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: " +
         std::string(flavor) + ", resources: [{name: cpu, nominalQuota: 1}]}]}]}\n";
}

const PreflightRow kPreflight[] = {
    {"flavor-with-topology", "create a second flavor without spec.topologyName",
     kFlavor + "metadata: {name: f}\nspec: {topologyName: t, nodeLabels: {a: b}}\n---\n" + kQueue +
         "metadata: {name: q}\n" + flavors_of("f"),
     kFlavor + "metadata: {name: g}\nspec: {nodeLabels: {a: b}}\n---\n" + kQueue + "metadata: {name: q}\n" +
         flavors_of("g")},
    {"check-nobody-answers", "remove the check from the ClusterQueues",
     kCheck + "spec: {controllerName: kueue.x-k8s.io/provisioning-request}\n---\n" + kQueue +
         "metadata: {name: q}\nspec: {namespaceSelector: {}, admissionChecksStrategy: {admissionChecks: [{name: "
         "c}]}}\n",
     kQueue + "metadata: {name: q}\nspec: {namespaceSelector: {}}\n"},
    {"object-refused", "change the object before the move",
     kQueue + "metadata: {name: q}\nspec: {namespaceSelector: {}, admissionScope: {admissionMode: "
              "UsageBasedAdmissionFairSharing}}\n",
     kQueue + "metadata: {name: q}\nspec: {namespaceSelector: {}}\n"},
    {"object-refused", "create a second ClusterQueue without it",
     kQueue + "metadata: {name: q}\nspec: {namespaceSelector: {}, concurrentAdmissionPolicy: {migration: {mode: "
              "RetainFirstAdmission}}}\n",
     kQueue + "metadata: {name: r}\nspec: {namespaceSelector: {}}\n"},
    {"job-with-topology", "create it again without its topology annotations",
     "apiVersion: batch/v1\nkind: Job\n" + kQueued +
         "spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-slice-required-topology: rack}}}}\n",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: again, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"},
    {"job-with-devices", "create it again without resourceClaims",
     "apiVersion: batch/v1\nkind: Job\n" + kQueued + "spec: {template: {spec: {resourceClaims: [{name: gpu}]}}}\n",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: again, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n"},
    {"ray-autoscaler", "create it again with enableInTreeAutoscaling: false",
     "apiVersion: ray.io/v1\nkind: RayCluster\n" + kQueued + "spec: {enableInTreeAutoscaling: true}\n",
     "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: again, namespace: a, labels: "
     "{kueue.x-k8s.io/queue-name: "
     "q}}\nspec: {suspend: true, enableInTreeAutoscaling: false, headGroupSpec: {rayStartParams: {}, template: {spec: "
     "{containers: [{name: h, image: i}]}}}}\n"},
};

ClusterDump dump_of(const std::string& text) {
  ClusterDump dump;
  const auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  for (const YamlDocument& document : *documents) dump.add(document.value);
  return dump;
}

const Finding* find(const std::vector<Finding>& findings, const PreflightRow& row) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.rule == row.rule && finding.remedy.find(row.remedy) != std::string::npos;
  });
  return found == findings.end() ? nullptr : &*found;
}

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

TEST_CASE("remedies: a cluster that follows preflight has the finding no more, and muster accepts its objects") {
  for (const PreflightRow& row : kPreflight) {
    CAPTURE(row.rule);
    CAPTURE(row.remedy);
    const ClusterDump before = dump_of(row.before), after = dump_of(row.after);
    REQUIRE(find(preflight(before, {}), row) != nullptr);
    CHECK(find(preflight(after, {}), row) == nullptr);
    for (const auto& entry : after.objects()) {
      const auto stored = std::find_if(before.objects().begin(), before.objects().end(),
                                       [&](const auto& other) { return other.first == entry.first; });
      const ReviewedObject reviewed = judge(entry.second, stored == before.objects().end() ? json() : stored->second);
      INFO(texts_of(reviewed));
      CHECK(reviewed.allowed);
    }
  }
}

}  // namespace remedies_test
