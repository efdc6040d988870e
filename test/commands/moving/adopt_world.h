// A cluster with Kueue and muster in memory, whose controllers act while a command sleeps.
#pragma once

#include <doctest/doctest.h>
#include <sstream>
#include "commands/moving/adopt.h"
#include "commands/moving/rules/adoption_parts.h"
#include "commands/moving/rules/definitions.h"
#include "manifests/catalog.h"
#include "manifests/schema.h"
#include "runtime/kueue/kueue_presence.h"
#include "test/commands/moving/fake_cluster.h"

namespace muster::test {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr const char* kKueue = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager";
constexpr const char* kKueuePod = "/api/v1/namespaces/kueue-system/pods/kueue-controller-manager-a-b";
constexpr const char* kKueueLease =
    "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io";
constexpr const char* kMuster = "/apis/apps/v1/namespaces/muster-system/deployments/muster";
constexpr const char* kMusterPod = "/api/v1/namespaces/muster-system/pods/muster-a-b";
constexpr const char* kMusterLease =
    "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/c1f6bfd2.kueue.x-k8s.io";
constexpr const char* kRecord = "/api/v1/namespaces/muster-system/configmaps/muster-adoption";
constexpr const char* kJobSet = "/apis/apps/v1/namespaces/jobset-system/deployments/jobset-controller-manager";
inline const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/";
// Of muster, with the name of one that Kueue can have.
inline const std::string kOwnApiService =
    "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.visibility.kueue.x-k8s.io";
inline const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
constexpr const char* kKueuesFile =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job, "
    "jobset.x-k8s.io/jobset]}\n";
constexpr const char* kMustersFile =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\ninternalCertManagement: {webhookServiceName: "
    "muster-webhook}\nintegrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n---\napiVersion: "
    "config.muster.batch/v1alpha1\nkind: MusterConfiguration\nsuspendGuard: enforce\n";

inline json webhooks_for(const std::string& ns) {
  return {{"webhooks",
           {{{"name", "a"},
             {"failurePolicy", "Fail"},
             {"clientConfig",
              {{"caBundle", "S3VldWU="}, {"service", {{"name", "kueue-webhook-service"}, {"namespace", ns}}}}}}}}};
}

inline json deployment_of(const std::string& app, int replicas) {
  return {{"metadata", {{"labels", {{"app.kubernetes.io/name", app}}}, {"generation", 1}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{"app", app}}}}},
            {"template", {{"spec", {{"containers", {{{"name", "manager"}, {"image", "r/" + app + ":v0.17.0"}}}}}}}}}},
          {"status", {{"replicas", replicas}, {"readyReplicas", app == "muster" ? 0 : replicas}}}};
}

inline json running_pod(const std::string& app) {
  return {{"metadata", {{"labels", {{"app", app}}}}},
          {"status", {{"containerStatuses", {{{"name", app}, {"state", {{"running", json::object()}}}}}}}}};
}

// Kueue's definitions: other labels, its own converter, v1beta1 stored, a field that only Kueue has, none of muster's.
inline json kueues_definition(json own) {
  own["metadata"]["labels"] = {{"app.kubernetes.io/name", "kueue"}};
  own["status"] = {{"storedVersions", {"v1beta1"}}};
  const bool converts = own["spec"].contains("conversion");
  if (converts)
    own["spec"]["conversion"] = {
        {"strategy", "Webhook"},
        {"webhook",
         {{"conversionReviewVersions", {"v1"}},
          {"clientConfig",
           {{"caBundle", "S3VldWU="},
            {"service", {{"name", "kueue-webhook-service"}, {"namespace", "kueue-system"}}}}}}}};
  for (json& version : own["spec"]["versions"]) {
    version["storage"] = version["name"] == "v1beta1";
    json& fields = version["schema"]["openAPIV3Schema"]["properties"];
    if (!fields.contains("spec")) continue;
    json& spec = fields["spec"];
    spec["properties"]["onlyKueues"] = {{"type", "string"}};
    spec["properties"].erase("flavorFallback");
    spec["properties"].erase("fallbackStrategy");
  }
  return own;
}

// A cluster with its controllers: what Deployments, Kueue and muster do is done while the command sleeps.
class World {
 public:
  explicit World(bool jobset = false) {
    for (json definition : manifests::manifests(manifests::ManifestSet::kCrds, {.serves_v1beta1 = true})) {
      const std::string name = definition["metadata"]["name"];
      if (definition["spec"]["group"] == "kueue.x-k8s.io")
        cluster.put(kDefinitions + name, kueues_definition(definition));
      if (jobset && definition["spec"]["group"] == "jobset.x-k8s.io") {
        definition["metadata"].erase("labels");
        definition["status"] = {{"storedVersions", {"v1alpha2"}}};
        cluster.put(kDefinitions + name, definition);
      }
    }
    for (auto& [path, object] : cluster.objects) {
      object["apiVersion"] = "apiextensions.k8s.io/v1";
      object["kind"] = "CustomResourceDefinition";
    }
    cluster.put(kKueue, deployment_of("kueue", 2));
    cluster.put(kMuster, deployment_of("muster", 2));
    cluster.put(kMusterPod, running_pod("muster"));
    cluster.put(kKueuePod, {{"metadata", {{"labels", {{"app", "kueue"}}}}}});
    cluster.put(kKueueLease,
                {{"spec", {{"holderIdentity", "kueue-controller-manager-a-b_1"}, {"leaseDurationSeconds", 15}}}});
    cluster.put(kHooks + "mutatingwebhookconfigurations/kueue-mutating-webhook-configuration",
                webhooks_for("kueue-system"));
    cluster.put(kHooks + "validatingwebhookconfigurations/kueue-validating-webhook-configuration",
                webhooks_for("kueue-system"));
    cluster.put("/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io",
                {{"spec", {{"group", "visibility.kueue.x-k8s.io"}}}});
    cluster.put(kOwnApiService, {{"metadata", {{"labels", {{"app.kubernetes.io/name", "muster"}}}}},
                                 {"spec", {{"group", "visibility.kueue.x-k8s.io"}}}});
    cluster.put("/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config",
                {{"data", {{"controller_manager_config.yaml", kKueuesFile}}}});
    cluster.put("/api/v1/namespaces/muster-system/configmaps/muster-config",
                {{"data", {{"config.yaml", kMustersFile}}}});
    if (jobset) add_jobset();
    for (int i = 0; i < 3; ++i)
      cluster.put("/apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/w" + std::to_string(i), {{"spec", {{"x", i}}}});
    cluster.after_write = [this](FakeCluster&) { check(); };
  }

  int adopt(commands::AdoptFlags flags = {}) {
    out.str("");
    err.str("");
    flags.timeout = 1min;
    return commands::adopt_in(cluster, flags, {clock_, sleeper_, [] { return 0.5; }}, {in, out, err});
  }
  int undo() {
    commands::AdoptFlags flags;
    flags.undo = true;
    return adopt(flags);
  }

  const json& at(const std::string& path) { return *cluster.find(path); }
  bool there(const std::string& path) { return cluster.find(path) != nullptr; }
  // Without what the API server counts.
  std::string picture() {
    std::string text;
    for (const auto& [path, object] : cluster.objects) {
      json shown = object;
      shown["metadata"].erase("resourceVersion");
      shown["metadata"].erase("uid");
      text += path + " " + shown.dump() + "\n";
    }
    return text;
  }

  FakeCluster cluster;
  bool stubborn = false;  // Kueue's pod does not end
  std::istringstream in;
  std::ostringstream out, err;

 private:
  struct FakeClock final : Clock {
    Now now() const override { return {TimePoint(time), MonotonicTime(time)}; }
    Duration time{};
  };
  struct FakeSleeper final : kube::Sleeper {
    explicit FakeSleeper(World& of) : world(of) {}
    void sleep(Duration duration, std::stop_token) override {
      world.clock_.time += duration;
      world.tick();
    }
    World& world;
  };

  void add_jobset() {
    cluster.put(kJobSet, deployment_of("jobset", 1));
    cluster.put("/api/v1/namespaces/jobset-system/pods/jobset-a-b", {{"metadata", {{"labels", {{"app", "jobset"}}}}}});
    cluster.put(kHooks + "validatingwebhookconfigurations/jobset-validating-webhook-configuration",
                webhooks_for("jobset-system"));
    cluster.put(kHooks + "mutatingwebhookconfigurations/jobset-mutating-webhook-configuration",
                webhooks_for("jobset-system"));
  }

  bool hooked(const std::string& name) { return there(kHooks + "validatingwebhookconfigurations/" + name); }
  bool muster_waits() {
    return hooked("kueue-validating-webhook-configuration") ||
           there(kHooks + "mutatingwebhookconfigurations/kueue-mutating-webhook-configuration") ||
           !runtime::is_muster_identity(string_at(at(kKueueLease), {"spec", "holderIdentity"}));
  }

  void scale(const char* deployment, const std::string& pod, const std::string& app) {
    json object = at(deployment);
    const int64_t replicas = object["spec"]["replicas"];
    if (replicas == 0 && there(pod) && !stubborn) cluster.objects.erase(pod);
    if (replicas > 0 && !there(pod)) cluster.put(pod, running_pod(app));
    const bool leads = app != "muster" || !muster_waits();
    object["status"] = {{"replicas", replicas},
                        {"readyReplicas", leads ? replicas : 0},
                        {"updatedReplicas", replicas},
                        {"observedGeneration", object["metadata"]["generation"]}};
    cluster.put(deployment, object);
  }

  void tick() {
    scale(kKueue, kKueuePod, "kueue");
    scale(kMuster, kMusterPod, "muster");
    if (there(kJobSet)) scale(kJobSet, "/api/v1/namespaces/jobset-system/pods/jobset-a-b", "jobset");
    if (!there(kMusterPod) || muster_waits()) return;
    cluster.put(kMusterLease, {{"spec", {{"holderIdentity", "muster-a-b_0123456789abcdef0123456789abcdef"}}}});
    for (auto& [path, object] : cluster.objects) {
      if (path.ends_with("configurations/muster")) {
        for (json& webhook : object["webhooks"]) webhook["clientConfig"]["caBundle"] = "bXVzdGVy";
      }
      const bool converted = path.starts_with(kDefinitions) && object["spec"].contains("conversion") &&
                             object["spec"]["conversion"]["strategy"] == "Webhook";
      if (converted && label(object, "app.kubernetes.io/name") == "muster")
        object["spec"]["conversion"]["webhook"]["clientConfig"] = {
            {"caBundle", "bXVzdGVy"},
            {"service", {{"name", "muster-conversion-service"}, {"namespace", "muster-system"}}}};
    }
  }

  // What must be true after every write.
  void check() {
    const bool kueues = hooked("kueue-validating-webhook-configuration"), own = hooked("muster");
    CHECK_MESSAGE((kueues || own), "a job could start without quota");
    const bool kueue_leads =
        there(kKueuePod) && !runtime::is_muster_identity(string_at(at(kKueueLease), {"spec", "holderIdentity"}));
    const bool muster_leads = there(kMusterPod) && !muster_waits();
    CHECK_MESSAGE(!(kueue_leads && muster_leads), "two schedulers decide");
  }

  FakeClock clock_;
  FakeSleeper sleeper_{*this};
};

}  // namespace muster::test
