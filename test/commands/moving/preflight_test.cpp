// muster preflight: what it finds, in which order, and what it says of what it cannot read.
#include "commands/moving/rules/preflight.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "api/codec/yaml.h"
#include "commands/cli.h"
#include "commands/moving/moving_commands.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/kubernetes_version.h"
#include "manifests/catalog.h"
#include "test/commands/moving/fake_cluster.h"
#include "test/support/files.h"
#include "test/support/temporary_folder.h"

namespace preflight_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

namespace {

ClusterDump dump_of(const std::string& yaml) {
  ClusterDump dump;
  const auto documents = read_yaml(yaml);
  REQUIRE(documents.ok());
  for (const YamlDocument& document : *documents) dump.add(document.value);
  return dump;
}

ClusterDump kueue_definitions() {
  ClusterDump dump;
  for (json& definition : manifests::manifests(manifests::ManifestSet::kCrds, {})) {
    if (definition["spec"]["group"] == "kueue.x-k8s.io") dump.add(definition);
  }
  return dump;
}

// Without the note that there is no configuration, which most of the clusters here have.
std::vector<Finding> found(const ClusterDump& dump, const PreflightOptions& options = {}) {
  std::vector<Finding> findings = preflight(dump, options);
  std::erase_if(findings, [](const Finding& finding) { return finding.rule == "configuration-assumed"; });
  return findings;
}

const Finding* find(const std::vector<Finding>& findings, std::string_view rule, std::string_view object = "") {
  for (const Finding& finding : findings) {
    const bool named =
        object.empty() || std::find(finding.objects.begin(), finding.objects.end(), object) != finding.objects.end();
    if (finding.rule == rule && named) return &finding;
  }
  return nullptr;
}

constexpr const char* kQueuedRayJob =
    "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\n";

std::string with_config(const std::string& config) {
  const json map = {{"apiVersion", "v1"},
                    {"kind", "ConfigMap"},
                    {"metadata", {{"name", "kueue-manager-config"}, {"namespace", "kueue-system"}}},
                    {"data", {{std::string(kKueueConfigKey), config}}}};
  return write_yaml(map);
}

struct Row {
  const char* what;
  const char* yaml;
  Severity severity;
  const char* rule;
  const char* object;
};

const Row kRows[] = {
    {"a flavor with a topology",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\nspec: {topologyName: t, "
     "nodeLabels: {a: "
     "b}}\n",
     Severity::kHarm, "flavor-with-topology", "ResourceFlavor f"},
    {"a check of a controller that is part of Kueue",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: c}\nspec: {controllerName: "
     "kueue.x-k8s.io/provisioning-request}\nstatus: {conditions: [{type: Active, status: 'True'}]}\n---\n"
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {admissionChecksStrategy: "
     "{admissionChecks: [{name: c}]}}\n",
     Severity::kHarm, "check-nobody-answers", "ClusterQueue q"},
    {"a check whose controller is away",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: c}\nspec: {controllerName: "
     "example.com/own}\n",
     Severity::kHarm, "check-nobody-answers", "AdmissionCheck c"},
    {"a check that is answered",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: c}\nspec: {controllerName: "
     "example.com/own}\nstatus: {conditions: [{type: Active, status: 'True'}]}\n",
     Severity::kNote, "check", "AdmissionCheck c"},
    {"a kind that muster queues and this configuration does not", kQueuedRayJob, Severity::kHarm, "kind-not-queued",
     "RayJob a/r"},
    {"a kind that nobody but Kueue queues",
     "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\n",
     Severity::kHarm, "kind-not-queued", "DaemonSet a/d"},
    {"a Workload of a RayJob that holds quota",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: a, ownerReferences: "
     "[{apiVersion: "
     "ray.io/v1, kind: RayJob, name: r, uid: u, controller: true}]}\nstatus: {admission: {clusterQueue: q}}\n",
     Severity::kHarm, "workload-of-other-kind", "Workload a/w"},
    {"a Workload that another cluster runs",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: a}\nstatus: {clusterName: "
     "far}\n",
     Severity::kHarm, "workload-in-other-cluster", "Workload a/w"},
    {"a Workload in a topology",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: a}\nstatus: {admission: "
     "{podSetAssignments: [{name: main, topologyAssignment: {}}]}}\n",
     Severity::kChange, "workload-with-topology", "Workload a/w"},
    {"a Job of MultiKueue",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: "
     "{managedBy: kueue.x-k8s.io/multikueue}\n",
     Severity::kHarm, "multikueue-job", "Job a/j"},
    {"a Job that asks for a topology",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: "
     "{template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}\n",
     Severity::kHarm, "job-with-topology", "Job a/j"},
    {"a Job that asks for slices of a topology alone",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: "
     "{template: {metadata: {annotations: {kueue.x-k8s.io/podset-slice-required-topology: rack, "
     "kueue.x-k8s.io/podset-slice-size: '2'}}}}\n",
     Severity::kHarm, "job-with-topology", "Job a/j"},
    {"a Job that asks for layers of a topology alone",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: "
     "{template: {metadata: {annotations: {kueue.x-k8s.io/podset-slice-required-topology-constraints: '[]'}}}}\n",
     Severity::kHarm, "job-with-topology", "Job a/j"},
    {"a Job that claims devices",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: "
     "{template: {spec: {resourceClaims: [{name: gpu}]}}}\n",
     Severity::kHarm, "job-with-devices", "Job a/j"},
    {"a Ray cluster that scales itself",
     "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: "
     "q}}\nspec: {rayClusterSpec: {enableInTreeAutoscaling: true}}\n",
     Severity::kHarm, "ray-autoscaler", "RayJob a/j"},
    {"one of two Workloads of an elastic job",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: a, annotations: "
     "{kueue.x-k8s.io/workload-slice-replacement-for: a/v}}\n",
     Severity::kHarm, "workload-slice", "Workload a/w"},
    {"a pod with the gate",
     "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec: {schedulingGates: [{name: "
     "kueue.x-k8s.io/admission}]}\n",
     Severity::kHarm, "pod-with-gate", "Pod a/p"},
    {"a pod with the finalizer",
     "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a, finalizers: [kueue.x-k8s.io/managed]}\n",
     Severity::kHarm, "pod-with-finalizer", "Pod a/p"},
    {"a pod with the gate of a topology",
     "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: a}\nspec: {schedulingGates: [{name: "
     "kueue.x-k8s.io/topology}]}\n",
     Severity::kHarm, "pod-with-topology-gate", "Pod a/p"},
    {"an object of MultiKueue", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueCluster\nmetadata: {name: m}\n",
     Severity::kChange, "kind-without-effect", "MultiKueueCluster m"},
    {"a field of fair sharing that muster refuses",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {namespaceSelector: {}, "
     "admissionScope: "
     "{admissionMode: UsageBasedAdmissionFairSharing}}\n",
     Severity::kHarm, "object-refused", "ClusterQueue q"},
    {"a field that muster has never heard of",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {namespaceSelector: {}, "
     "someday: 1}\n",
     Severity::kChange, "field-without-effect", "ClusterQueue q"},
    {"one definition of several",
     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
     "cohorts.kueue.x-k8s.io}\nspec: "
     "{group: kueue.x-k8s.io, versions: [{name: v1beta2, served: true}]}\n",
     Severity::kBlocker, "definition-missing", "CustomResourceDefinition workloads.kueue.x-k8s.io"},
    {"a definition of an old Kueue",
     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
     "cohorts.kueue.x-k8s.io}\nspec: "
     "{group: kueue.x-k8s.io, versions: [{name: v1beta1, served: true}]}\n",
     Severity::kBlocker, "definition-old", "CustomResourceDefinition cohorts.kueue.x-k8s.io"},
    {"a definition that is being deleted",
     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: cohorts.kueue.x-k8s.io, "
     "deletionTimestamp: x}\nspec: {group: kueue.x-k8s.io, versions: [{name: v1beta2, served: true}]}\n",
     Severity::kBlocker, "definition-deleted", "CustomResourceDefinition cohorts.kueue.x-k8s.io"},
    {"objects that are stored as v1alpha1",
     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
     "cohorts.kueue.x-k8s.io}\nspec: "
     "{group: kueue.x-k8s.io, versions: [{name: v1beta2, served: true}]}\nstatus: {storedVersions: [v1alpha1]}\n",
     Severity::kBlocker, "stored-version", "CustomResourceDefinition cohorts.kueue.x-k8s.io"},
    {"webhooks without a Deployment",
     "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: "
     "kueue-validating-webhook-configuration}\n",
     Severity::kHarm, "webhooks-without-server",
     "ValidatingWebhookConfiguration kueue-validating-webhook-configuration"},
    {"a Lease without a Deployment",
     "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: c1f6bfd2.kueue.x-k8s.io, namespace: "
     "kueue-system}\nspec: {holderIdentity: kueue-controller-manager-a-b_c}\n",
     Severity::kHarm, "lease-without-deployment", "Lease kueue-system/c1f6bfd2.kueue.x-k8s.io"},
    {"Kueue in muster's namespace",
     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: kueue-controller-manager, namespace: muster-system}\n",
     Severity::kBlocker, "same-namespace", "Deployment muster-system/kueue-controller-manager"},
    {"an annotation of a queued Job that muster does not read",
     "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}, "
     "annotations: {kueue.x-k8s.io/wait-for-pods-ready: '{\"timeoutSeconds\": 60}'}}\nspec: {suspend: true}\n",
     Severity::kChange, "annotation-without-effect", "Job a/j"},
    {"an annotation of a ClusterQueue that muster does not read",
     "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q, annotations: "
     "{kueue.x-k8s.io/alpha-preemption-config: c}}\n",
     Severity::kChange, "annotation-without-effect", "ClusterQueue q"},
    {"JobSet, which can stay",
     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: jobset-controller-manager, namespace: jobset-system}\n",
     Severity::kNote, "running", "Deployment jobset-system/jobset-controller-manager"},
};

}  // namespace

TEST_CASE("preflight: each danger has its severity, its object and a sentence") {
  for (const Row& row : kRows) {
    INFO(row.what);
    const auto findings = found(dump_of(row.yaml));
    std::string all;
    for (const Finding& finding : findings) all += finding.rule + "; ";
    INFO(all);
    const Finding* finding = find(findings, row.rule, row.object);
    REQUIRE(finding != nullptr);
    CHECK(finding->severity == row.severity);
    CHECK(finding->problem.size() > 20);
    if (row.severity <= Severity::kHarm) CHECK_FALSE(finding->remedy.empty());
  }
}

TEST_CASE("preflight: a cluster of muster's own definitions and plain queues is clean") {
  ClusterDump dump = kueue_definitions();
  for (const json& sample : manifests::manifests(manifests::ManifestSet::kSamples, {})) {
    if (sample["kind"] != "AdmissionCheck") dump.add(sample);
  }
  const auto findings = found(dump);
  for (const Finding& finding : findings) CHECK_MESSAGE(finding.severity == Severity::kNote, finding.problem);
  CHECK_FALSE(needs_action(findings));
  CHECK(print_findings(findings, FindingFormat::kTable, "clean").ends_with("clean\n"));
}

TEST_CASE("preflight: a Kubernetes that is too old is a blocker, and what a newer one would have is a note") {
  const auto judged = [](std::optional<int> minor) { return found({}, {.server_minor = minor}); };
  REQUIRE(find(judged(kOldestMinor - 1), "kubernetes-version", "Kubernetes 1.30") != nullptr);
  CHECK(judged(kOldestMinor - 1).front().severity == Severity::kBlocker);
  CHECK(find(judged(kOldestMinor), "kubernetes-version") == nullptr);
  CHECK(find(judged(kOldestMinor), "kubernetes-feature", "Kubernetes 1.31") != nullptr);
  CHECK_FALSE(needs_action(judged(kOldestMinor)));
  CHECK(find(judged(35), "kubernetes-feature", "Kubernetes 1.35") != nullptr);
  CHECK(judged(36).empty());
  CHECK(judged(std::nullopt).empty());
}

TEST_CASE("preflight: what is finished or not queued is nobody's loss") {
  CHECK(found(dump_of("apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r, namespace: a}\n")).empty());
  CHECK(found(dump_of("apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, namespace: a, "
                      "ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: r, uid: u, controller: true}]}\n"
                      "status: {conditions: [{type: Finished, status: 'True'}]}\n"))
            .empty());
}

TEST_CASE("preflight: without Kueue's ConfigMap the assumption of the defaults is said, and it is nothing to be done") {
  const auto assumed = preflight({}, {});
  REQUIRE(assumed.size() == 1);
  CHECK(assumed[0].rule == "configuration-assumed");
  CHECK(assumed[0].problem.starts_with("assumed default configuration"));
  CHECK_FALSE(needs_action(assumed));
  const std::string head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
  CHECK(find(preflight(dump_of(with_config(head)), {}), "configuration-assumed") == nullptr);
}

TEST_CASE("preflight: pods that wait are one entry with their number, whatever Kueue has put on them") {
  const auto pod = [](const std::string& name, const std::string& more = "") {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
           ", namespace: a, labels: {kueue.x-k8s.io/queue-name: q}, finalizers: [kueue.x-k8s.io/managed]" + more +
           "}\nspec: {schedulingGates: [{name: kueue.x-k8s.io/admission}, {name: kueue.x-k8s.io/topology}]}\n";
  };
  const std::string pods = pod("p1") + "---\n" + pod("p2");
  const auto unqueued = found(dump_of(pods));
  REQUIRE(unqueued.size() == 1);
  CHECK(unqueued[0].rule == "pod-with-gate");
  CHECK(print_findings(unqueued, FindingFormat::kTable, "").starts_with("Harm     Pod a/p1, Pod a/p2 (2 in all)\n"));
  CHECK(json::parse(print_findings(unqueued, FindingFormat::kJson, ""))["findings"][0]["count"] == 2);

  // muster admits them and removes both gates.
  const std::string queued =
      with_config(
          "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [pod]}\n") +
      "---\n";
  CHECK_FALSE(needs_action(found(dump_of(queued + pods))));
  const auto placed =
      found(dump_of(queued + pod("p3", ", annotations: {kueue.x-k8s.io/podset-required-topology: rack}")));
  REQUIRE(find(placed, "job-with-topology") != nullptr);
  CHECK(placed.size() == 1);
}

TEST_CASE("preflight: Kueue's configuration decides which kinds are queued") {
  const std::string config =
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job, "
      "ray.io/rayjob]}\n";
  CHECK(find(found(dump_of(kQueuedRayJob)), "kind-not-queued") != nullptr);
  CHECK(find(found(dump_of(with_config(config) + "---\n" + kQueuedRayJob)), "kind-not-queued") == nullptr);
}

TEST_CASE("preflight: the configuration that Kueue ships is read, and what muster does not act on is named") {
  const auto shipped = found(
      dump_of(with_config(test::read_file(std::string(MUSTER_SOURCE_DIR) + "/test/support/kueue_as_shipped.yaml"))));
  const Finding* setting = find(shipped, "setting-without-effect");
  REQUIRE(setting != nullptr);
  CHECK(setting->objects.front().find("controller.groupKindConcurrency") != std::string::npos);
  CHECK(find(shipped, "configuration-refused") == nullptr);

  const std::string head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
  CHECK(find(found(dump_of(with_config(head + "nonsense: 1\n"))), "configuration-refused")->severity ==
        Severity::kBlocker);
  CHECK(find(found(dump_of(with_config(head + "namespace: kueue-system\n"))), "configuration-namespace") != nullptr);
  CHECK(find(found(dump_of(with_config(head + "leaderElection: {leaderElect: true, resourceName: other}\n"))),
             "leader-election") != nullptr);
  CHECK(find(found(dump_of(with_config(head))), "configuration-namespace") == nullptr);

  const auto old_gates = found(dump_of(with_config(head + "featureGates: {LendingLimit: false, TLSOptions: true}\n")));
  const Finding* gate = find(old_gates, "gate-without-effect");
  REQUIRE(gate != nullptr);
  CHECK(gate->severity == Severity::kChange);
  CHECK(gate->problem.starts_with("featureGates.LendingLimit: false has no effect: Kueue 0.18 is the last release"));
}

TEST_CASE("preflight: the most damaging comes first and equal findings are one") {
  std::string yaml;
  for (const Row& row : kRows) yaml += std::string(row.yaml) + "---\n";
  for (int i = 0; i < 5; ++i)
    yaml += "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d" + std::to_string(i) +
            ", namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\n---\n";
  const auto findings = found(dump_of(yaml.substr(0, yaml.size() - 4)));
  CHECK(std::is_sorted(findings.begin(), findings.end(),
                       [](const Finding& a, const Finding& b) { return a.severity < b.severity; }));
  CHECK(find(findings, "kind-not-queued", "DaemonSet a/d3")->objects.size() == 6);
  const std::string text = print_findings(findings, FindingFormat::kTable, "clean");
  CHECK(text.starts_with("Blocker  "));
  CHECK(text.find("DaemonSet a/d, DaemonSet a/d0, DaemonSet a/d1 and 3 more") != std::string::npos);
  CHECK(text.find("clean") == std::string::npos);
  const json printed = json::parse(print_findings(findings, FindingFormat::kJson, ""));
  CHECK(printed["needsAction"] == true);
  CHECK(printed["findings"].size() == findings.size());
}

TEST_CASE("preflight: what may not be listed is said, what is not served is empty, and an ill API server is an error") {
  test::FakeCluster cluster;
  cluster.not_served = {"rayjobs"};
  cluster.forbidden = {"/workloads"};
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(preflight_of(cluster, {}, {in, out, err}) == 1);
  CHECK(err.str() == "");
  CHECK(out.str().find("Unknown  workloads.kueue.x-k8s.io\n") != std::string::npos);
  CHECK(out.str().find("you cannot GET /workloads") != std::string::npos);
  CHECK(out.str().find("rayjobs") == std::string::npos);
  for (const std::string& line : cluster.log) CHECK(line.starts_with("GET "));
  cluster.forbidden.clear();
  out.str("");
  CHECK(preflight_of(cluster, {}, {in, out, err}) == 0);
  CHECK(out.str().starts_with("Note     ConfigMap kueue-manager-config\n         assumed default configuration"));
  cluster.ill = true;
  CHECK(preflight_of(cluster, {}, {in, out, err}) == 1);
  CHECK(err.str().find("cannot be listed: ill; nothing was changed, try again") != std::string::npos);
}

TEST_CASE("preflight: a dump is read as a cluster is, and kinds that it lacks are named") {
  const test::TemporaryFile file(std::string("apiVersion: v1\nkind: List\nitems:\n- ") +
                                 "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r, namespace: a, labels: "
                                 "{kueue.x-k8s.io/queue-name: q}}}\n");
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(run_command_line({"preflight", "-f", file.path()}, {in, out, err}) == 1);
  CHECK(out.str().find("RayJob a/r") != std::string::npos);
  CHECK(out.str().find("the files have no object of kind CustomResourceDefinition") != std::string::npos);
  CHECK(run_command_line({"preflight", "-f", "/no/such/file"}, {in, out, err}) == 2);
  CHECK(run_command_line({"preflight", "-o", "tabel"}, {in, out, err}) == 2);
  CHECK(err.str().find("did you mean \"table\"?") != std::string::npos);
}

}  // namespace preflight_test
