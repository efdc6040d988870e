// What `muster preflight` tells a user to do works: the cluster then has the finding no more.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "api/cluster_queue.h"
#include "api/codec/yaml.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/preflight.h"
#include "manifests/catalog.h"
#include "runtime/load_settings.h"
#include "test/commands/judged_object.h"
#include "test/commands/moving/rules_in.h"

namespace remedies_test {

using namespace muster;
using namespace muster::commands;
using muster::test::judge;
using muster::test::texts_of;
using nlohmann::json;

namespace {

struct PreflightRow {
  const char* rule;
  const char* remedy;  // a part of it
  std::string before;
  // The cluster afterwards. An object of the same name is updated, and the webhook accepts that.
  std::string after;
  PreflightOptions before_options{};
  PreflightOptions after_options{};
};

const std::string kFlavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\n";
const std::string kQueue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n";
const std::string kQueued = "metadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\n";
const std::string kCheck = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: c}\n";

const std::string kWorkload =
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nspec: {podSets: [{name: main, count: 1, template: {spec: "
    "{restartPolicy: Never, containers: [{name: c, image: i}]}}}]}\n";
const std::string kFinished =
    "status: {conditions: [{type: Finished, status: 'True', reason: Succeeded, message: m, lastTransitionTime: "
    "'2026-01-01T00:00:00Z'}]}\n";
const std::string kOfRay =
    "metadata: {name: w, namespace: a, ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: r, uid: u, "
    "controller: true}]}\n";
const std::string kComplete = "status: {conditions: [{type: Complete, status: 'True'}]}\n";
const std::string kDaemons =
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
    "q}}\n";
const std::string kPlainJob =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: again, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\n"
    "spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}\n";
const std::string kPod = "apiVersion: v1\nkind: Pod\n";
const std::string kDefinition =
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: cohorts.kueue.x-k8s.io}\n";
const std::string kJobSetDefinition =
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
    "jobsets.jobset.x-k8s.io}\n";

std::string kueue_config(const std::string& fields) {
  const json map = {
      {"apiVersion", "v1"},
      {"kind", "ConfigMap"},
      {"metadata", {{"name", "kueue-manager-config"}, {"namespace", "kueue-system"}}},
      {"data",
       {{std::string(kKueueConfigKey), "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n" + fields}}}};
  return map.dump() + "\n---\n";
}

// What muster's own copy of the file says.
PreflightOptions own_copy() {
  static const auto settings = runtime::settings_of_text(
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n", std::string(manifests::kDefaultNamespace));
  REQUIRE(settings.ok());
  return {.settings = &*settings};
}

// All of Kueue's.
std::string definitions() {
  std::string all;
  for (const json& definition : manifests::manifests(manifests::ManifestSet::kCrds, {})) {
    if (definition["spec"]["group"] == "kueue.x-k8s.io") all += (all.empty() ? "" : "\n---\n") + definition.dump();
  }
  return all;
}

std::string flavors_of(const char* flavor) {
  return "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: " +
         std::string(flavor) + ", resources: [{name: cpu, nominalQuota: 1}]}]}]}\n";
}

// A function: what it is made of throws where no test case runs.
const std::vector<PreflightRow>& preflight_rows() {
  static const std::vector<PreflightRow> rows = {
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
       "q}}\nspec: {suspend: true, enableInTreeAutoscaling: false, headGroupSpec: {rayStartParams: {}, template: "
       "{spec: "
       "{containers: [{name: h, image: i}]}}}}\n"},
      {"job-with-topology", "let it finish before the move",
       "apiVersion: batch/v1\nkind: Job\n" + kQueued +
           "spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}\n",
       "apiVersion: batch/v1\nkind: Job\n" + kQueued +
           "spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}\n" +
           kComplete},
      {"multikueue-job", "let it finish before the move",
       "apiVersion: batch/v1\nkind: Job\n" + kQueued + "spec: {managedBy: kueue.x-k8s.io/multikueue}\n",
       "apiVersion: batch/v1\nkind: Job\n" + kQueued + "spec: {managedBy: kueue.x-k8s.io/multikueue}\n" + kComplete},
      {"check-nobody-answers", "start that controller", kCheck + "spec: {controllerName: example.com/own}\n",
       kCheck + "spec: {controllerName: example.com/own}\nstatus: {conditions: [{type: Active, status: 'True'}]}\n"},
      {"kind-not-queued", "add ray.io/rayjob to integrations.frameworks",
       "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
       "q}}\n",
       kueue_config("integrations: {frameworks: [batch/job, ray.io/rayjob]}\n") +
           "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
           "q}}\n"},
      {"kind-not-queued", "run the work as a Job or a JobSet", kDaemons, kPlainJob},
      {"kind-not-queued", "name its controller in integrations.externalFrameworks", kDaemons,
       kueue_config("integrations: {frameworks: [batch/job], externalFrameworks: [DaemonSet.v1.apps]}\n") + kDaemons},
      {"workload-of-other-kind", "let it finish before the move", kWorkload + kOfRay, kWorkload + kOfRay + kFinished},
      {"workload-of-other-kind", "name its controller in integrations.externalFrameworks", kWorkload + kOfRay,
       kueue_config("integrations: {frameworks: [batch/job], externalFrameworks: [RayJob.v1.ray.io]}\n") + kWorkload +
           kOfRay},
      {"workload-in-other-cluster", "let it finish before the move",
       kWorkload + "metadata: {name: w, namespace: a}\nstatus: {clusterName: far}\n",
       kWorkload + "metadata: {name: w, namespace: a}\n" + kFinished},
      {"workload-variant", "turn concurrent admission off and let these Workloads end",
       kWorkload + "metadata: {name: w, namespace: a, labels: {kueue.x-k8s.io/concurrent-admission-parent: v}}\n",
       kWorkload + "metadata: {name: w, namespace: a, labels: {kueue.x-k8s.io/concurrent-admission-parent: v}}\n" +
           kFinished},
      {"workload-slice", "the other one is finished",
       kWorkload +
           "metadata: {name: w, namespace: a, annotations: {kueue.x-k8s.io/workload-slice-replacement-for: a/v}}\n"
           "---\n" +
           kWorkload + "metadata: {name: v, namespace: a}\n",
       kWorkload +
           "metadata: {name: w, namespace: a, annotations: {kueue.x-k8s.io/workload-slice-replacement-for: a/v}}\n"
           "---\n" +
           kWorkload + "metadata: {name: v, namespace: a}\n" + kFinished},
      {"pod-with-topology-gate", "let it be scheduled before the move",
       kPod + "metadata: {name: p, namespace: a}\nspec: {schedulingGates: [{name: kueue.x-k8s.io/topology}]}\n",
       kPod + "metadata: {name: p, namespace: a}\nspec: {nodeName: n}\n"},
      {"pod-with-gate", "add pod to integrations.frameworks",
       kPod + "metadata: {name: p, namespace: a}\nspec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}\n",
       kueue_config("integrations: {frameworks: [batch/job, pod]}\n") + kPod +
           "metadata: {name: p, namespace: a}\nspec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}\n"},
      {"pod-with-gate", "let these pods end before the move",
       kPod + "metadata: {name: p, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\nspec: {schedulingGates: "
              "[{name: kueue.x-k8s.io/admission}, {name: kueue.x-k8s.io/topology}]}\n",
       kPod + "metadata: {name: p, namespace: a}\nspec: {nodeName: n}\n"},
      {"pod-with-finalizer", "let these pods end before the move",
       kPod + "metadata: {name: p, namespace: a, finalizers: [kueue.x-k8s.io/managed]}\n",
       kPod + "metadata: {name: p, namespace: a}\nstatus: {phase: Succeeded}\n"},
      {"definition-missing", "install Kueue's definitions again",
       kDefinition + "spec: {group: kueue.x-k8s.io, versions: [{name: v1beta2, served: true}]}\n", definitions()},
      {"definition-deleted", "let the deletion end, and install it again",
       kDefinition + "spec: {group: kueue.x-k8s.io, versions: [{name: v1beta2, served: true}]}\n---\n" +
           "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
           "workloads.kueue.x-k8s.io, deletionTimestamp: x}\nspec: {group: kueue.x-k8s.io}\n",
       definitions()},
      {"definition-old", "upgrade Kueue to 0.15 or later first",
       kDefinition + "spec: {group: kueue.x-k8s.io, versions: [{name: v1beta1, served: true}]}\n", definitions()},
      {"definition-old", "upgrade JobSet first",
       kJobSetDefinition + "spec: {group: jobset.x-k8s.io, versions: [{name: v1alpha1, served: true}]}\n",
       kJobSetDefinition + "spec: {group: jobset.x-k8s.io, versions: [{name: v1alpha2, served: true}]}\n"},
      {"stored-version", "migrate them with the version of Kueue or JobSet that can",
       kJobSetDefinition + "spec: {group: jobset.x-k8s.io, versions: [{name: v1alpha2, served: true}]}\nstatus: "
                           "{storedVersions: [v1alpha1, v1alpha2]}\n",
       kJobSetDefinition + "spec: {group: jobset.x-k8s.io, versions: [{name: v1alpha2, served: true}]}\nstatus: "
                           "{storedVersions: [v1alpha2]}\n"},
      {"webhooks-without-server", "kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration",
       "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: "
       "kueue-validating-webhook-configuration}\n",
       kPlainJob},
      {"lease-without-deployment", "delete the Lease if no process renews it",
       "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: c1f6bfd2.kueue.x-k8s.io, namespace: "
       "kueue-system}\nspec: {holderIdentity: kueue-controller-manager-a-b_c}\n",
       kPlainJob},
      {"same-namespace",
       "choose another namespace for muster",
       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kueue-controller-manager, namespace: muster-system}\n",
       "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kueue-controller-manager, namespace: muster-system}\n",
       {},
       {.muster_namespace = "queues"}},
      {"configuration-refused", "correct controller_manager_config.yaml in it",
       kueue_config("integrations: {frameworks: [nonsense]}\n"), kueue_config("integrations: {frameworks: [pod]}\n")},
      {"configuration-namespace",
       "remove the setting from the copy that muster reads",
       kueue_config("namespace: kueue-system\n"),
       kueue_config("namespace: kueue-system\n"),
       {},
       own_copy()},
      {"leader-election", "set leaderElect: true and resourceName: c1f6bfd2.kueue.x-k8s.io",
       kueue_config("leaderElection: {leaderElect: false}\n"),
       kueue_config("leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}\n")},
      {"configuration-assumed", "muster preflight --config FILE", kPlainJob, kPlainJob, {}, own_copy()},
      {"kubernetes-version", "upgrade the cluster", kPlainJob, kPlainJob, {.server_minor = 30}, {.server_minor = 36}},
  };
  return rows;
}

// They say what acts otherwise, and there is nothing to do.
const std::set<std::string> kWithoutRemedy = {"annotation-without-effect",
                                              "check",
                                              "configuration",
                                              "elastic-job",
                                              "field-without-effect",
                                              "gate-without-effect",
                                              "kubernetes-feature",
                                              "kind-without-effect",
                                              "workload-with-gates",
                                              "workload-with-topology"};
// "muster adopt" does these: adopt_test.cpp. And a page says what each setting does.
// jobset_settings_test.cpp follows those of JobSet's file.
const std::set<std::string> kElsewhere = {"jobset-configuration",   "jobset-gate", "api-services", "lease", "running",
                                          "setting-without-effect", "webhooks"};

ClusterDump dump_of(const std::string& text) {
  ClusterDump dump;
  const auto documents = read_yaml(text);
  REQUIRE(documents.ok());
  for (const YamlDocument& document : *documents) {
    if (!document.value.is_null()) dump.add(document.value);
  }
  return dump;
}

const Finding* find(const std::vector<Finding>& findings, const PreflightRow& row) {
  const auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.rule == row.rule && finding.remedy.find(row.remedy) != std::string::npos;
  });
  return found == findings.end() ? nullptr : &*found;
}

bool is_judged(const json& object) {
  const std::string kind = object["kind"];
  return kind != "ConfigMap" && kind != "Deployment" && kind != "CustomResourceDefinition" &&
         !object.contains("status") && kind != "RayJob" && kind != "DaemonSet" && kind != "Pod";
}

}  // namespace

TEST_CASE("remedies: each rule of preflight that prints one has a row") {
  std::set<std::string> known = kWithoutRemedy;
  known.insert(kElsewhere.begin(), kElsewhere.end());
  for (const PreflightRow& row : preflight_rows()) known.insert(row.rule);
  for (const char* source : {"preflight.cpp", "preflight_components.cpp", "preflight_queues.cpp",
                             "preflight_settings.cpp", "preflight_work.cpp", "kubernetes_version.cpp"}) {
    for (const std::string& rule : test::rules_in(source)) CHECK_MESSAGE(known.contains(rule), rule);
  }
}

TEST_CASE("remedies: a cluster that follows preflight has the finding no more, and muster accepts its objects") {
  for (const PreflightRow& row : preflight_rows()) {
    CAPTURE(row.rule);
    CAPTURE(row.remedy);
    const ClusterDump before = dump_of(row.before), after = dump_of(row.after);
    const std::vector<Finding> findings = preflight(before, row.before_options);
    REQUIRE(find(findings, row) != nullptr);
    for (const Finding& finding : findings) CHECK(finding.remedy.empty() == kWithoutRemedy.contains(finding.rule));
    for (const Finding& finding : preflight(after, row.after_options))
      CHECK_MESSAGE(finding.rule != row.rule, finding.problem);
    for (const auto& entry : after.objects()) {
      // The others are no objects that muster decides about, or are there as they were.
      if (!is_judged(entry.second) || row.before.find(row.after) != std::string::npos) continue;
      const auto stored = std::find_if(before.objects().begin(), before.objects().end(),
                                       [&](const auto& other) { return other.first == entry.first; });
      const ReviewedObject reviewed = judge(entry.second, stored == before.objects().end() ? json() : stored->second);
      INFO(texts_of(reviewed));
      CHECK(reviewed.allowed);
    }
  }
}

}  // namespace remedies_test
