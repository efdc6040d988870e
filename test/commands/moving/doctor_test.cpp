// muster doctor: what is wrong with an installed muster, each with a command.
#include "commands/moving/rules/doctor.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "api/meta/time.h"
#include "base/encoding.h"
#include "certs/authority.h"
#include "commands/moving/moving_commands.h"
#include "manifests/catalog.h"
#include "test/commands/moving/clinic.h"
#include "test/commands/moving/fake_cluster.h"
#include "test/commands/moving/rules_in.h"

namespace doctor_test {

using namespace muster;
using namespace muster::commands;
using namespace muster::test::clinic;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// What begins with kubectl is a verb and its arguments, up to the next command or the rest of the sentence.
bool commands_are_whole(const std::string& remedy) {
  static const std::regex begin("kubectl (?:-n \\S+ )?"),
      command(
          "kubectl (?:-n \\S+ )?(?:muster \\w+|get|delete|describe|logs|apply|edit|scale|set "
          "(?:image|resources)|label|patch|create|rollout "
          "(?:restart|status))(?: -n \\S+| (?!the |a |an |and )[^ ,;|]+)*(?:[,;|)].*| \\| .*| and .*)?");
  std::sregex_iterator place(remedy.begin(), remedy.end(), begin);
  return std::all_of(place, std::sregex_iterator(), [&](const std::smatch& found) {
    return std::regex_match(remedy.substr(static_cast<size_t>(found.position())), command);
  });
}

}  // namespace

TEST_CASE("doctor: nothing is wrong with a muster that was just installed") {
  for (const Finding& finding : Clinic().examine()) FAIL_CHECK(finding.rule << ": " << finding.problem);
}

TEST_CASE("doctor: each illness has its severity and a command") {
  struct Row {
    const char* rule;
    Severity severity;
    std::function<void(Clinic&)> harm;
    const char* remedy;
    std::function<void(Clinic&)> follow;  // does what the remedy says, or what it leads to
  };
  const auto apply = [](manifests::ManifestSet set) {
    return [set](Clinic& c) {
      for (const json& object : manifests::manifests(set, {})) c.put(object);
    };
  };
  const auto healthy = [](const char* key) { return [key = std::string(key)](Clinic& c) { c.put(Clinic().at(key)); }; };
  // The process writes its caBundle as it starts, and both replicas run.
  const auto restart = [](Clinic& c) { c.write_bundle(); };
  const auto start = [](Clinic& c) {
    c.at("Deployment/muster")["status"]["readyReplicas"] = c.at("Deployment/muster")["spec"]["replicas"];
    c.runs();
  };
  const Row rows[] = {
      {"muster-not-installed", Severity::kBlocker, [](Clinic& c) { c.objects.erase("Deployment/muster"); }, "install",
       healthy("Deployment/muster")},
      {"muster-not-ready", Severity::kBlocker,
       [](Clinic& c) { c.at("Deployment/muster")["status"]["readyReplicas"] = 0; }, "logs deployment/muster", start},
      {"muster-not-ready", Severity::kBlocker,
       [](Clinic& c) {
         c.at("Deployment/muster")["status"]["readyReplicas"] = 0;
         c.objects.erase("Pod/muster-a");
       },
       "get events --sort-by=.lastTimestamp",
       [start](Clinic& c) {
         c.put(Clinic().at("Pod/muster-a"));
         start(c);
       }},
      {"muster-scaled-down", Severity::kBlocker,
       [](Clinic& c) {
         c.at("Deployment/muster")["spec"]["replicas"] = c.at("Deployment/muster")["status"]["readyReplicas"] = 0;
       },
       "scale deployment muster --replicas 2",
       [start](Clinic& c) {
         c.at("Deployment/muster")["spec"]["replicas"] = 2;
         start(c);
       }},
      {"muster-not-ready", Severity::kChange,
       [](Clinic& c) { c.at("Deployment/muster")["status"]["readyReplicas"] = 1; }, "get pods", start},
      {"muster-pod-waits", Severity::kBlocker,
       [](Clinic& c) {
         c.at("Deployment/muster")["status"]["readyReplicas"] = 0;
         c.waits("ErrImagePull");
       },
       "set image deployment/muster muster=IMAGE", start},
      {"muster-pod-waits", Severity::kChange, [](Clinic& c) { c.waits("CrashLoopBackOff"); },
       "logs muster-a --previous", start},
      {"muster-pod-waits", Severity::kChange, [](Clinic& c) { c.waits("CreateContainerConfigError"); },
       "describe pod muster-a", start},
      {"muster-pod-waits", Severity::kChange,
       [](Clinic& c) {
         c.waits("CrashLoopBackOff");
         c.at("Pod/muster-a")["status"]["containerStatuses"][0]["lastState"]["terminated"] = {{"reason", "OOMKilled"},
                                                                                              {"exitCode", 137}};
       },
       "set resources deployment/muster -c muster --limits memory=2Gi", start},
      {"muster-pod-waits", Severity::kChange,
       [](Clinic& c) { c.has_no_node("0/2 nodes are available: 2 Insufficient cpu."); },
       "set resources deployment/muster --requests cpu=50m,memory=64Mi", start},
      {"muster-pod-waits", Severity::kChange,
       [](Clinic& c) { c.has_no_node("0/2 nodes are available: 2 node(s) had untolerated taint {gpu: true}."); },
       "add a toleration", start},
      {"muster-pod-waits", Severity::kChange,
       [](Clinic& c) {
         c.has_no_node("0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.");
       },
       "edit deployment muster, with Helm: nodeSelector", start},
      {"muster-pod-refused", Severity::kBlocker,
       [](Clinic& c) {
         c.at("Deployment/muster")["status"] = {
             {"conditions",
              {{{"type", "ReplicaFailure"}, {"status", "True"}, {"message", "pods is forbidden: exceeded quota: q"}}}}};
         c.objects.erase("Pod/muster-a");
       },
       "get resourcequota,limitrange",
       [](Clinic& c) {
         c.put(Clinic().at("Deployment/muster"));
         c.put(Clinic().at("Pod/muster-a"));
       }},
      {"webhook-without-endpoints", Severity::kBlocker,
       [](Clinic& c) { c.objects.erase("EndpointSlice/muster-webhook"); }, "get endpointslices",
       healthy("EndpointSlice/muster-webhook")},
      {"webhook-without-endpoints", Severity::kBlocker,
       [](Clinic& c) { c.at("EndpointSlice/muster-webhook")["endpoints"][0]["conditions"]["ready"] = false; },
       "get pods", healthy("EndpointSlice/muster-webhook")},
      {"webhooks-missing", Severity::kHarm, [](Clinic& c) { c.objects.erase("ValidatingWebhookConfiguration/muster"); },
       "--only webhooks",
       [apply](Clinic& c) {
         apply(manifests::ManifestSet::kWebhooks)(c);
         c.write_bundle();
       }},
      {"ca-missing", Severity::kBlocker,
       [](Clinic& c) { c.at("MutatingWebhookConfiguration/muster")["webhooks"][0]["clientConfig"].erase("caBundle"); },
       "rollout restart", restart},
      {"ca-mismatch", Severity::kBlocker,
       [](Clinic& c) {
         const auto other = certs::make_authority("muster", {kNow - 1h, kNow + 1h});
         c.at("CustomResourceDefinition/workloads.kueue.x-k8s.io")["spec"]["conversion"]["webhook"]["clientConfig"] =
             service_to("muster-conversion-service", other->certificate);
       },
       "rollout restart", restart},
      {"ca-mismatch", Severity::kBlocker, [](Clinic& c) { *c.facts.server_now = c.facts.now = kNow + 25h; },
       "rollout restart", [](Clinic& c) { *c.facts.server_now = c.facts.now = kNow; }},
      {"certificate-unreadable", Severity::kBlocker,
       [](Clinic& c) { c.at("Secret/muster-webhook-cert")["data"]["tls.crt"] = base64_encode("nonsense"); },
       "delete secret muster-webhook-cert, and",
       [](Clinic& c) {
         const Clinic other;
         c.bundle = other.bundle;
         c.put(other.objects.at("Secret/muster-webhook-cert"));
         c.write_bundle();
       }},
      {"definition-missing", Severity::kBlocker,
       [](Clinic& c) { c.objects.erase("CustomResourceDefinition/cohorts.kueue.x-k8s.io"); }, "--only crds",
       [apply](Clinic& c) {
         apply(manifests::ManifestSet::kCrds)(c);
         c.write_bundle();
       }},
      {"definition-deleted", Severity::kBlocker,
       [](Clinic& c) {
         c.at("CustomResourceDefinition/workloads.kueue.x-k8s.io")["metadata"]["deletionTimestamp"] =
             "2026-06-01T11:00:00Z";
       },
       "remove the finalizers",
       [apply](Clinic& c) {
         apply(manifests::ManifestSet::kCrds)(c);
         c.write_bundle();
       }},
      {"definition-of-others", Severity::kHarm,
       [](Clinic& c) { c.at("CustomResourceDefinition/cohorts.kueue.x-k8s.io")["metadata"].erase("labels"); },
       "kubectl label",
       [](Clinic& c) {
         c.at("CustomResourceDefinition/cohorts.kueue.x-k8s.io")["metadata"]["labels"]["app.kubernetes.io/name"] =
             "muster";
       }},
      {"definition-old", Severity::kChange,
       [](Clinic& c) {
         for (json& version : c.at("CustomResourceDefinition/clusterqueues.kueue.x-k8s.io")["spec"]["versions"])
           version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].erase("stopPolicy");
       },
       "--force-conflicts",
       [apply](Clinic& c) {
         apply(manifests::ManifestSet::kCrds)(c);
         c.write_bundle();
       }},
      {"right-missing", Severity::kHarm, [](Clinic& c) { c.facts.lacks = {"patch workloads.kueue.x-k8s.io"}; },
       "--only rbac", [](Clinic& c) { c.facts.lacks.clear(); }},
      {"no-leader", Severity::kHarm, [](Clinic& c) { c.objects.erase("Lease/c1f6bfd2.kueue.x-k8s.io"); }, "logs",
       healthy("Lease/c1f6bfd2.kueue.x-k8s.io")},
      {"lease-of-others", Severity::kBlocker,
       [](Clinic& c) { c.at("Lease/c1f6bfd2.kueue.x-k8s.io")["spec"]["holderIdentity"] = "kueue_1-2"; }, "adopt",
       healthy("Lease/c1f6bfd2.kueue.x-k8s.io")},
      {"lease-expired", Severity::kBlocker,
       [](Clinic& c) { c.at("Lease/c1f6bfd2.kueue.x-k8s.io")["spec"]["renewTime"] = "2026-06-01T11:50:00.000000Z"; },
       "delete lease", healthy("Lease/c1f6bfd2.kueue.x-k8s.io")},
      {"clock-skew", Severity::kChange,
       [](Clinic& c) { c.at("Lease/c1f6bfd2.kueue.x-k8s.io")["spec"]["renewTime"] = "2026-06-01T12:00:30.000000Z"; },
       "set the clock", healthy("Lease/c1f6bfd2.kueue.x-k8s.io")},
      {"clock-skew", Severity::kChange, [](Clinic& c) { c.facts.now = kNow - 10s; }, "NTP",
       [](Clinic& c) { c.facts.now = kNow; }},
      {"version-skew", Severity::kChange, [](Clinic& c) { c.facts.version = "0.2.0"; }, "same version",
       [](Clinic& c) { c.facts.version = "0.1.0"; }},
      {"version-skew", Severity::kChange,
       [](Clinic& c) {
         json pod = c.at("Pod/muster-a");
         pod["metadata"]["name"] = "muster-b";
         pod["spec"]["containers"][0]["image"] = "r/muster@sha256:0";
         c.put(pod);
       },
       "rollout status", [](Clinic& c) { c.objects.erase("Pod/muster-b"); }},
      {"kubernetes-version", Severity::kBlocker, [](Clinic& c) { c.facts.server_minor = 30; }, "upgrade",
       [](Clinic& c) { c.facts.server_minor = 36; }},
      {"kueue-there", Severity::kBlocker,
       [](Clinic& c) {
         json hooks = c.at("ValidatingWebhookConfiguration/muster");
         hooks["metadata"]["name"] = "kueue-validating-webhook-configuration";
         c.put(hooks);
       },
       "kubectl muster adopt",
       [](Clinic& c) { c.objects.erase("ValidatingWebhookConfiguration/kueue-validating-webhook-configuration"); }},
      {"flavor-missing", Severity::kHarm, [](Clinic& c) { c.objects.erase("ResourceFlavor/f"); }, "create flavor f",
       healthy("ResourceFlavor/f")},
      {"check-missing", Severity::kHarm,
       [](Clinic& c) {
         c.at("ClusterQueue/cq")["spec"]["admissionChecksStrategy"] = {{"admissionChecks", {{{"name", "gone"}}}}};
       },
       "kubectl edit clusterqueue cq", healthy("ClusterQueue/cq")},
      {"clusterqueue-missing", Severity::kHarm, [](Clinic& c) { c.objects.erase("ClusterQueue/cq"); },
       "create clusterqueue cq", healthy("ClusterQueue/cq")},
      {"localqueue-missing", Severity::kHarm, [](Clinic& c) { c.objects.erase("LocalQueue/lq"); },
       "create localqueue lq -n a", healthy("LocalQueue/lq")},
      {"queue-stopped", Severity::kChange, [](Clinic& c) { c.at("ClusterQueue/cq")["spec"]["stopPolicy"] = "Hold"; },
       "resume clusterqueue cq", healthy("ClusterQueue/cq")},
      {"queue-stopped", Severity::kChange,
       [](Clinic& c) { c.at("LocalQueue/lq")["spec"]["stopPolicy"] = "HoldAndDrain"; }, "resume localqueue lq -n a",
       healthy("LocalQueue/lq")},
      {"deletion-stuck", Severity::kChange,
       [](Clinic& c) { c.is_stuck("ClusterQueue/cq", "kueue.x-k8s.io/resource-in-use"); }, "kubectl get workloads -A",
       healthy("ClusterQueue/cq")},
      {"deletion-stuck", Severity::kChange,
       [](Clinic& c) { c.is_stuck("ResourceFlavor/f", "kueue.x-k8s.io/resource-in-use"); },
       "when no ClusterQueue names it", healthy("ResourceFlavor/f")},
      {"deletion-stuck", Severity::kChange,
       [](Clinic& c) { c.is_stuck("Workload/w", "kueue.x-k8s.io/resource-in-use"); },
       "muster removes the finalizer when the pods have ended", healthy("Workload/w")},
      {"deletion-stuck", Severity::kChange, [](Clinic& c) { c.is_stuck("LocalQueue/lq", "example.com/theirs"); },
       "kubectl edit localqueue lq -n a", healthy("LocalQueue/lq")},
  };
  std::set<std::string> ill;
  for (const Row& row : rows) {
    Clinic clinic;
    row.harm(clinic);
    const auto findings = clinic.examine();
    std::string all;
    for (const Finding& finding : findings) all += finding.rule + ": " + finding.remedy + "; ";
    INFO(row.rule << " among " << all);
    const auto is_of_row = [&](const Finding& finding) {
      return finding.rule == row.rule && finding.severity == row.severity &&
             finding.remedy.find(row.remedy) != std::string::npos;
    };
    CHECK(std::any_of(findings.begin(), findings.end(), is_of_row));
    for (const Finding& finding : findings) CHECK_MESSAGE(commands_are_whole(finding.remedy), finding.remedy);
    row.follow(clinic);
    for (const Finding& finding : clinic.examine()) CHECK_MESSAGE(finding.rule != row.rule, finding.problem);
    ill.insert(row.rule);
  }
  // Each rule prints a remedy, so each has a row.
  for (const char* source : {"doctor.cpp", "doctor_pods.cpp", "doctor_queues.cpp", "doctor_webhooks.cpp"}) {
    for (const std::string& rule : test::rules_in(source)) CHECK_MESSAGE(ill.contains(rule), rule);
  }
}

TEST_CASE("doctor: a part is put back in the way in which muster was installed") {
  const auto remedy = [](const Clinic& clinic) -> std::string {
    for (const Finding& finding : clinic.examine()) {
      if (finding.rule == "webhooks-missing") return finding.remedy;
    }
    return "";
  };
  Clinic clinic;
  clinic.objects.erase("ValidatingWebhookConfiguration/muster");
  CHECK(
      remedy(clinic) ==
      "kubectl -n muster-system get configmap muster-config -o jsonpath='{.data.config\\.yaml}' > config.yaml; muster "
      "manifests --only webhooks --config config.yaml | kubectl apply --server-side --force-conflicts -f -");
  clinic.at("Deployment/muster")["metadata"]["annotations"]["meta.helm.sh/release-name"] = "queues";
  CHECK(remedy(clinic) == "helm upgrade queues manifests/charts/muster --namespace muster-system --reuse-values");
}

TEST_CASE("doctor: muster's account is asked for every right of its roles, and what is not allowed is named") {
  test::FakeCluster cluster;
  cluster.put("/apis/apps/v1/namespaces/muster-system/deployments/muster",
              {{"spec", {{"template", {{"spec", {{"serviceAccountName", "muster"}}}}}}}});
  std::set<std::string> users;
  int asked = 0;
  cluster.review = [&](const json& review) -> json {
    if (review["kind"] == "SelfSubjectReview") return {{"metadata", {{"creationTimestamp", "2026-06-01T12:00:00Z"}}}};
    ++asked;
    users.insert(review["spec"]["user"]);
    const json& attributes = review["spec"]["resourceAttributes"];
    return {{"status", {{"allowed", !(attributes["verb"] == "patch" && attributes["resource"] == "workloads")}}}};
  };
  struct Fixed final : Clock {
    Now now() const override { return {kNow, {}}; }
  } clock;
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(doctor_of(cluster, {}, clock, {in, out, err}) == 1);
  CHECK(asked > 50);
  CHECK(users == std::set<std::string>{"system:serviceaccount:muster-system:muster"});
  CHECK(out.str().find("patch workloads.kueue.x-k8s.io, patch workloads/status.kueue.x-k8s.io") != std::string::npos);
  CHECK(cluster.writes == 0);
}

}  // namespace doctor_test
