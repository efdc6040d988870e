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
#include "test/commands/moving/fake_cluster.h"
#include "test/commands/moving/rules_in.h"

namespace doctor_test {

using namespace muster;
using namespace muster::commands;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const TimePoint kNow = to_time_point(*parse_rfc3339("2026-06-01T12:00:00Z"));

json service_to(const std::string& service, const std::string& bundle) {
  return {{"caBundle", base64_encode(bundle)}, {"service", {{"namespace", "muster-system"}, {"name", service}}}};
}

// A cluster in which all is well; rows take something away.
class Clinic {
 public:
  Clinic() {
    const certs::Validity validity{kNow - 1h, kNow + 24h};
    const auto authority = certs::make_authority("muster", validity);
    REQUIRE(authority.ok());
    const auto leaf = certs::make_leaf(*authority, certs::service_names("muster-webhook", "muster-system"), validity);
    REQUIRE(leaf.ok());
    bundle = authority->certificate;
    for (const json& object : manifests::manifests(manifests::ManifestSet::kAll, {})) put(object);
    write_bundle();
    json& deployment = at("Deployment/muster");
    deployment["status"] = {{"replicas", 2}, {"readyReplicas", 2}};
    const json own = {{"app.kubernetes.io/name", "muster"}};
    put({{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", {{"name", "muster-a"}, {"namespace", "muster-system"}, {"labels", own}}},
         {"spec", {{"containers", {{{"image", "r/muster:0.1.0"}}}}}}});
    runs();
    put({{"apiVersion", "v1"},
         {"kind", "Secret"},
         {"metadata", {{"name", "muster-webhook-cert"}, {"namespace", "muster-system"}, {"labels", own}}},
         {"data", {{"tls.crt", base64_encode(leaf->certificate)}}}});
    for (const char* service : {"muster-webhook", "muster-conversion-service"})
      put({{"apiVersion", "discovery.k8s.io/v1"},
           {"kind", "EndpointSlice"},
           {"metadata",
            {{"name", service}, {"namespace", "muster-system"}, {"labels", {{"kubernetes.io/service-name", service}}}}},
           {"endpoints", {{{"conditions", {{"ready", true}}}}}}});
    put({{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", {{"name", "c1f6bfd2.kueue.x-k8s.io"}, {"namespace", "muster-system"}}},
         {"spec",
          {{"holderIdentity", "muster-a_0123456789abcdef0123456789abcdef"},
           {"leaseDurationSeconds", 15},
           {"renewTime", "2026-06-01T11:59:58.000000Z"}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "ResourceFlavor"}, {"metadata", {{"name", "f"}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "ClusterQueue"},
         {"metadata", {{"name", "cq"}}},
         {"spec", {{"resourceGroups", {{{"flavors", {{{"name", "f"}}}}}}}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "LocalQueue"},
         {"metadata", {{"name", "lq"}, {"namespace", "a"}}},
         {"spec", {{"clusterQueue", "cq"}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "Workload"},
         {"metadata", {{"name", "w"}, {"namespace", "a"}}},
         {"spec", {{"queueName", "lq"}}}});
    facts.now = facts.server_now.emplace(kNow);
    facts.server_minor = 36;
    facts.version = "0.1.0";
  }

  void put(const json& object) {
    objects[object["kind"].get<std::string>() + "/" + object["metadata"]["name"].get<std::string>()] = object;
  }
  json& at(const std::string& key) {
    REQUIRE(objects.contains(key));
    return objects[key];
  }
  void write_bundle() {
    for (auto& [key, object] : objects) {
      if (object["kind"].get<std::string>().ends_with("WebhookConfiguration")) {
        for (json& webhook : object["webhooks"]) webhook["clientConfig"] = service_to("muster-webhook", bundle);
      }
      if (object["kind"] == "CustomResourceDefinition" && object["spec"].contains("conversion"))
        object["spec"]["conversion"]["webhook"]["clientConfig"] = service_to("muster-conversion-service", bundle);
    }
  }
  void is_stuck(const char* key, const char* finalizer) {
    at(key)["metadata"]["deletionTimestamp"] = "2026-06-01T11:00:00Z";
    at(key)["metadata"]["finalizers"] = {finalizer};
  }
  void runs() {
    at("Pod/muster-a")["status"] = {
        {"containerStatuses",
         {{{"name", "muster"}, {"image", "r/muster:0.1.0"}, {"state", {{"running", json::object()}}}}}}};
  }
  void waits(const char* reason, const char* message = "", const char* pod = "Pod/muster-a") {
    at(pod)["status"]["containerStatuses"] = {{{"name", "muster"},
                                               {"image", "r/muster:0.1.0"},
                                               {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}}};
  }
  void has_no_node(const char* message) {
    at("Pod/muster-a")["status"] = {
        {"phase", "Pending"},
        {"conditions",
         {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", message}}}}};
  }
  // As a muster that has never run: no replica answers, writes CA bundles or leads.
  void never_ran() {
    at("Deployment/muster")["status"]["readyReplicas"] = 0;
    for (const char* service : {"muster-webhook", "muster-conversion-service"})
      objects.erase("EndpointSlice/" + std::string(service));
    for (auto& [key, object] : objects) {
      if (!object["kind"].get<std::string>().ends_with("WebhookConfiguration")) continue;
      for (json& webhook : object["webhooks"]) webhook["clientConfig"].erase("caBundle");
    }
    objects.erase("Lease/c1f6bfd2.kueue.x-k8s.io");
  }
  std::vector<Finding> examine() const {
    ClusterDump dump;
    for (const auto& entry : objects) dump.add(entry.second);
    return doctor(dump, facts);
  }

  std::map<std::string, json> objects;
  std::string bundle;
  DoctorFacts facts;
};

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

namespace {

// "muster-pod-waits > muster-not-ready, no-leader"
std::string outline(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += (text.empty() ? "" : "; ") + finding.rule;
    for (size_t i = 0; i < finding.consequences.size(); ++i)
      text += (i == 0 ? " > " : ", ") + finding.consequences[i].rule;
  }
  return text;
}

constexpr const char* kAllThatFollows = "muster-not-ready, webhook-without-endpoints, ca-missing, no-leader";

}  // namespace

TEST_CASE("doctor: a cause is one entry, and what follows is under it") {
  struct Row {
    const char* cause;
    std::function<void(Clinic&)> harm;
    const char* remedy;
  };
  const Row rows[] = {
      {"muster-pod-waits", [](Clinic& c) { c.waits("ImagePullBackOff"); }, "push the image there"},
      {"muster-pod-waits", [](Clinic& c) { c.has_no_node("0/1 nodes are available: 1 Insufficient memory."); },
       "add a node"},
      {"muster-pod-waits", [](Clinic& c) { c.waits("CrashLoopBackOff"); }, "kubectl -n muster-system logs muster-a"},
      {"muster-scaled-down", [](Clinic& c) { c.at("Deployment/muster")["spec"]["replicas"] = 0; },
       "kubectl -n muster-system scale"},
      {"definition-missing", [](Clinic& c) { c.objects.erase("CustomResourceDefinition/cohorts.kueue.x-k8s.io"); },
       "kubectl -n muster-system get configmap muster-config"},
      {"right-missing", [](Clinic& c) { c.facts.lacks = {"list workloads.kueue.x-k8s.io"}; },
       "kubectl -n muster-system get configmap muster-config"},
  };
  for (const Row& row : rows) {
    Clinic clinic;
    clinic.never_ran();
    row.harm(clinic);
    std::string follows = kAllThatFollows;
    if (std::string_view(row.cause) == "muster-scaled-down") follows = follows.substr(follows.find(", ") + 2);
    const auto findings = clinic.examine();
    // Both Services, each with its webhooks.
    CHECK(outline(findings).find(row.cause + std::string(" > ")) == 0);
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].severity == Severity::kBlocker);
    CHECK(findings[0].remedy.starts_with(row.remedy));
    std::set<std::string> rules;
    for (const Finding& next : findings[0].consequences) rules.insert(next.rule);
    std::set<std::string> wanted;
    for (size_t at = 0; at < follows.size();) {
      const size_t end = std::min(follows.find(", ", at), follows.size());
      wanted.insert(follows.substr(at, end - at));
      at = end + 2;
    }
    CHECK(rules == wanted);
    const std::string text = print_findings(findings, FindingFormat::kTable, "");
    CHECK(text.find("->") == text.rfind("->"));
    CHECK(text.find("rollout restart") == std::string::npos);
    CHECK(json::parse(print_findings(findings, FindingFormat::kJson, ""))["findings"][0]["consequences"].size() ==
          findings[0].consequences.size());
  }
}

TEST_CASE(
    "doctor: a failed pull in two pods is one entry, and the scheduler's text is in that of an unschedulable pod") {
  Clinic clinic;
  clinic.never_ran();
  json other = clinic.at("Pod/muster-a");
  other["metadata"]["name"] = "muster-b";
  clinic.put(other);
  clinic.waits("ErrImagePull", "failed to resolve reference: \x1b[31mnot found");
  clinic.waits("ImagePullBackOff", "Back-off", "Pod/muster-b");
  auto findings = clinic.examine();
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].objects == std::vector<std::string>{"Pod muster-system/muster-a", "Pod muster-system/muster-b"});
  const std::string text = print_findings(findings, FindingFormat::kTable, "");
  CHECK(text.find("ErrImagePull: failed to resolve reference: \\x1b[31mnot found") != std::string::npos);

  clinic.objects.erase("Pod/muster-b");
  clinic.has_no_node("0/3 nodes are available: 3 node(s) had untolerated taint {a: b}.");
  findings = clinic.examine();
  REQUIRE(findings.size() == 1);
  CHECK(
      findings[0].problem ==
      "the scheduler finds no node for it (Unschedulable: 0/3 nodes are available: 3 node(s) had untolerated taint {a: "
      "b}.)");
  CHECK(findings[0].remedy.find("logs") == std::string::npos);
}

TEST_CASE("doctor: docs/install.md shows what it prints of an image that cannot be pulled") {
  Clinic clinic;
  clinic.never_ran();
  clinic.waits("ImagePullBackOff", "Back-off pulling image \"r/muster:0.1.0\"");
  const std::string page = test::read_source_file("docs/install.md");
  std::istringstream lines(print_findings(clinic.examine(), FindingFormat::kTable, ""));
  for (std::string line; std::getline(lines, line);)
    CHECK_MESSAGE(page.find("\n    " + line + "\n") != std::string::npos, line);
}

TEST_CASE("doctor: what does not follow from a cause stays an entry, and while muster serves nothing is hidden") {
  Clinic clinic;
  clinic.never_ran();
  clinic.waits("ErrImagePull");
  clinic.objects.erase("ClusterQueue/cq");
  clinic.at("Workload/w")["metadata"]["deletionTimestamp"] = "2026-06-01T11:00:00Z";
  CHECK(outline(clinic.examine()).ends_with("no-leader; clusterqueue-missing; deletion-stuck"));

  // Rights that a replica does not read with are no reason why none is ready.
  Clinic writes;
  writes.never_ran();
  writes.facts.lacks = {"patch workloads.kueue.x-k8s.io"};
  CHECK(outline(writes.examine()).starts_with("muster-not-ready > "));
  CHECK(outline(writes.examine()).ends_with("no-leader; right-missing"));

  Clinic serves;
  serves.at("Deployment/muster")["status"]["readyReplicas"] = 1;
  serves.waits("ErrImagePull");
  serves.objects.erase("EndpointSlice/muster-webhook");
  serves.objects.erase("Lease/c1f6bfd2.kueue.x-k8s.io");
  CHECK(outline(serves.examine()) == "webhook-without-endpoints; no-leader; muster-pod-waits > muster-not-ready");

  Clinic absent;
  absent.never_ran();
  absent.objects.erase("Deployment/muster");
  absent.objects.erase("Pod/muster-a");
  absent.objects.erase("ValidatingWebhookConfiguration/muster");
  absent.objects.erase("CustomResourceDefinition/cohorts.kueue.x-k8s.io");
  REQUIRE(absent.examine().size() == 1);
  CHECK(absent.examine()[0].rule == "muster-not-installed");
}

TEST_CASE("doctor: causes come in the order pods, Service, webhooks, CA bundles, Lease") {
  Clinic clinic;
  clinic.objects.erase("EndpointSlice/muster-webhook");
  clinic.objects.erase("ValidatingWebhookConfiguration/muster");
  clinic.at("MutatingWebhookConfiguration/muster")["webhooks"][0]["clientConfig"].erase("caBundle");
  clinic.at("Lease/c1f6bfd2.kueue.x-k8s.io")["spec"]["renewTime"] = "2026-06-01T11:50:00.000000Z";
  CHECK(outline(clinic.examine()) == "webhook-without-endpoints; ca-missing; lease-expired; webhooks-missing");
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
