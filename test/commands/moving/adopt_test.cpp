// muster adopt: the order of its steps, an interruption at every write, and the way back.
#include "commands/moving/adopt.h"

#include <doctest/doctest.h>

#include <sstream>

#include "commands/moving/rules/adoption_parts.h"
#include "commands/moving/rules/definitions.h"
#include "manifests/catalog.h"
#include "manifests/schema.h"
#include "runtime/kueue_presence.h"
#include "test/commands/moving/fake_cluster.h"

using namespace muster;
using namespace std::chrono_literals;
using nlohmann::json;
using test::FakeCluster;

namespace {

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
const std::string kHooks = "/apis/admissionregistration.k8s.io/v1/";
// Of muster, with the name of one that Kueue can have.
const std::string kOwnApiService = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.visibility.kueue.x-k8s.io";
const std::string kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";
constexpr const char* kKueuesFile =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [batch/job, "
    "jobset.x-k8s.io/jobset]}\n";
constexpr const char* kMustersFile =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\ninternalCertManagement: {webhookServiceName: "
    "muster-webhook}\nintegrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset]}\n---\napiVersion: "
    "config.muster.batch/v1alpha1\nkind: MusterConfiguration\nsuspendGuard: enforce\n";

json webhooks_for(const std::string& ns) {
  return {{"webhooks",
           {{{"name", "a"},
             {"failurePolicy", "Fail"},
             {"clientConfig",
              {{"caBundle", "S3VldWU="}, {"service", {{"name", "kueue-webhook-service"}, {"namespace", ns}}}}}}}}};
}

json deployment_of(const std::string& app, int replicas) {
  return {{"metadata", {{"labels", {{"app.kubernetes.io/name", app}}}, {"generation", 1}}},
          {"spec",
           {{"replicas", replicas},
            {"selector", {{"matchLabels", {{"app", app}}}}},
            {"template", {{"spec", {{"containers", {{{"name", "manager"}, {"image", "r/" + app + ":v0.17.0"}}}}}}}}}},
          {"status", {{"replicas", replicas}, {"readyReplicas", app == "muster" ? 0 : replicas}}}};
}

// Kueue's definitions: other labels, its own converter, v1beta1 stored, a field that only Kueue has, none of muster's.
json kueues_definition(json own) {
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
    for (json definition : manifests(ManifestSet::kCrds, {})) {
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
    cluster.put(kMusterPod, {{"metadata", {{"labels", {{"app", "muster"}}}}}});
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

  int adopt(AdoptFlags flags = {}) {
    out.str("");
    err.str("");
    flags.timeout = 1min;
    return adopt_in(cluster, flags, {clock_, sleeper_, [] { return 0.5; }}, {in, out, err});
  }
  int undo() {
    AdoptFlags flags;
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
           !is_muster_identity(string_at(at(kKueueLease), {"spec", "holderIdentity"}));
  }

  void scale(const char* deployment, const std::string& pod, const std::string& app) {
    json object = at(deployment);
    const int64_t replicas = object["spec"]["replicas"];
    if (replicas == 0 && there(pod) && !stubborn) cluster.objects.erase(pod);
    if (replicas > 0 && !there(pod)) cluster.put(pod, {{"metadata", {{"labels", {{"app", app}}}}}});
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
        there(kKueuePod) && !is_muster_identity(string_at(at(kKueueLease), {"spec", "holderIdentity"}));
    const bool muster_leads = there(kMusterPod) && !muster_waits();
    CHECK_MESSAGE(!(kueue_leads && muster_leads), "two schedulers decide");
  }

  FakeClock clock_;
  FakeSleeper sleeper_{*this};
};

}  // namespace

TEST_CASE("adopt: Kueue is replaced, what is stored is rewritten and no field of a definition goes") {
  World world;
  const int code = world.adopt();
  INFO(world.out.str() << world.err.str());
  REQUIRE(code == 0);
  CHECK(world.at(kKueue)["spec"]["replicas"] == 0);
  CHECK(is_muster_identity(string_at(world.at(kKueueLease), {"spec", "holderIdentity"})));
  CHECK(int_at(world.at(kKueueLease), {"spec", "leaseDurationSeconds"}) > 1'000'000'000);
  CHECK_FALSE(world.there(kHooks + "mutatingwebhookconfigurations/kueue-mutating-webhook-configuration"));
  CHECK_FALSE(world.there("/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io"));
  CHECK(world.there(kOwnApiService));  // by its label: it has a name of Kueue's
  for (const DefinedKind& kind : defined_kinds()) {
    if (kind.definition->at("spec").at("group") != "kueue.x-k8s.io") continue;
    const json& live = world.at(kDefinitions + kind.definition->at("metadata").at("name").get<std::string>());
    INFO(live["metadata"]["name"]);
    CHECK(storage_version(live) == "v1beta2");
    CHECK(live["status"]["storedVersions"] == json::array({"v1beta2"}));
    CHECK(missing_fields(live, *kind.definition).empty());
    const json& schema = live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
    if (schema.contains("spec")) CHECK(schema["spec"]["properties"].contains("onlyKueues"));
  }
  int rewritten = 0;
  for (const std::string& line : world.cluster.log)
    rewritten += line.starts_with("PATCH /apis/kueue.x-k8s.io/v1beta2/namespaces/a/workloads/");
  CHECK(rewritten == 3);
  const int writes = world.cluster.writes;
  CHECK(world.adopt() == 0);
  CHECK(world.cluster.writes == writes);
}

TEST_CASE("adopt: interrupted at any write it goes on when it is called again, and ends the same") {
  World straight;
  REQUIRE(straight.adopt() == 0);
  const std::string wanted = straight.picture();
  const int writes = straight.cluster.writes;
  REQUIRE(writes > 20);
  for (const bool done : {false, true}) {
    for (int at = 1; at <= writes; ++at) {
      INFO("write " << at << (done ? " was done" : " was not done"));
      World world;
      world.cluster.break_at = at;
      world.cluster.done_before_break = done;
      CHECK(world.adopt() == 1);
      CHECK(world.err.str().find("the connection broke; muster adopt goes on from here") != std::string::npos);
      world.cluster.break_at.reset();
      CHECK(world.adopt() == 0);
      CHECK(world.picture() == wanted);
    }
  }
}

TEST_CASE("adopt: undo puts everything back, from wherever the move was interrupted") {
  World straight;
  REQUIRE(straight.adopt() == 0);
  const int writes = straight.cluster.writes;
  for (int at = 2; at <= writes + 1; ++at) {
    INFO("interrupted at write " << at);
    World world;
    const json before_hooks =
        world.at(kHooks + "validatingwebhookconfigurations/kueue-validating-webhook-configuration")["webhooks"];
    std::map<std::string, json> before;
    for (const auto& [path, object] : world.cluster.objects) {
      if (path.starts_with(kDefinitions)) before[path] = object;
    }
    world.cluster.break_at = at;
    CHECK(world.adopt() == (at > writes ? 0 : 1));
    world.cluster.break_at.reset();
    const int code = world.undo();
    INFO(world.out.str() << world.err.str());
    CHECK(code == 0);
    CHECK(world.at(kKueue)["spec"]["replicas"] == 2);
    CHECK(world.at(kMuster)["spec"]["replicas"] == 0);
    CHECK(world.at(kHooks + "validatingwebhookconfigurations/kueue-validating-webhook-configuration")["webhooks"] ==
          before_hooks);
    CHECK(world.there("/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io"));
    CHECK_FALSE(world.there(kHooks + "validatingwebhookconfigurations/muster"));
    CHECK_FALSE(world.there(kRecord));
    const auto holder = string_at(world.at(kKueueLease), {"spec", "holderIdentity"});
    CHECK((holder.empty() || !is_muster_identity(holder)));
    for (const auto& [path, was] : before) {
      const json& now = world.at(path);
      INFO(path);
      CHECK(now["metadata"]["labels"] == was["metadata"]["labels"]);
      const json none = {{"strategy", "None"}};
      CHECK(now["spec"].value("conversion", none) == was["spec"].value("conversion", none));
      CHECK(storage_version(now) == "v1beta1");
      CHECK(missing_fields(now, was).empty());
    }
    CHECK(world.undo() == 0);
    CHECK(world.out.str() == "There is no record of a move: nothing is to be undone.\n");
  }
}

TEST_CASE("adopt: undo that is interrupted at any write goes on when it is called again") {
  World straight;
  REQUIRE(straight.adopt() == 0);
  const int moved = straight.cluster.writes;
  REQUIRE(straight.undo() == 0);
  const int writes = straight.cluster.writes;
  REQUIRE(writes > moved + 8);
  const std::string wanted = straight.picture();
  for (const bool done : {false, true}) {
    for (int at = moved + 1; at <= writes; ++at) {
      INFO("write " << at << (done ? " was done" : " was not done"));
      World world;
      REQUIRE(world.adopt() == 0);
      world.cluster.break_at = at;
      world.cluster.done_before_break = done;
      CHECK(world.undo() == 1);
      world.cluster.break_at.reset();
      CHECK(world.undo() == 0);
      CHECK(world.picture() == wanted);
    }
  }
}

TEST_CASE("adopt: a dry run prints the steps and writes nothing") {
  World world;
  AdoptFlags flags;
  flags.dry_run = true;
  CHECK(world.adopt(flags) == 0);
  CHECK(world.cluster.writes == 0);
  const std::string text = world.out.str();
  const char* order[] = {"1. record",        "2. definitions", "3. register",        "4. scale-down",
                         "5. await-end",     "6. take-lease",  "7. remove-webhooks", "8. await-muster",
                         "9. store-v1beta2", "10. rewrite",    "Nothing was changed"};
  size_t last = 0;
  for (const char* step : order) {
    INFO(step);
    const size_t at = text.find(step);
    CHECK(at != std::string::npos);
    CHECK(at >= last);
    last = at;
  }
  CHECK(text.find("     change Deployment kueue-system/kueue-controller-manager\n") != std::string::npos);
}

TEST_CASE("adopt: what must not begin changes nothing and says why") {
  struct Row {
    const char* what;
    std::function<void(World&)> spoil;
    const char* sentence;
  };
  const Row rows[] = {
      {"no muster", [](World& w) { w.cluster.objects.erase(kMuster); }, "muster is not installed"},
      {"muster without replicas", [](World& w) { w.cluster.objects[kMuster]["spec"]["replicas"] = 0; },
       "muster has no replica"},
      {"another configuration",
       [](World& w) {
         w.cluster.objects["/api/v1/namespaces/muster-system/configmaps/muster-config"]["data"]["config.yaml"] =
             "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmanageJobsWithoutQueueName: true\n";
       },
       "muster is configured otherwise than Kueue: integrations, manageJobsWithoutQueueName"},
      {"half removed definitions", [](World& w) { w.cluster.objects.erase(kDefinitions + "cohorts.kueue.x-k8s.io"); },
       "Kueue is half removed"},
      {"harm",
       [](World& w) {
         w.cluster.put("/apis/ray.io/v1/namespaces/a/rayjobs/r",
                       {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}});
       },
       "--accept-harm begins it all the same"},
      {"no right to write",
       [](World& w) { w.cluster.review = [](const json&) {
                        return json{{"status", {{"allowed", false}}}};
                      }; },
       "you lack rights that the move needs (create configmaps, patch deployments"},
      {"no right to read", [](World& w) { w.cluster.forbidden = {"/leases"}; },
       "leases.coordination.k8s.io could not be read"},
      {"an ill API server", [](World& w) { w.cluster.ill = true; }, "nothing was changed, try again"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    World world;
    row.spoil(world);
    const std::string before = world.picture();
    CHECK(world.adopt() == 1);
    CHECK(world.cluster.writes == 0);
    CHECK(world.picture() == before);
    CHECK_MESSAGE((world.out.str() + world.err.str()).find(row.sentence) != std::string::npos, world.out.str()
                                                                                                   << world.err.str());
  }
}

TEST_CASE("adopt: a Kueue that does not end holds the move up, before anything of it is removed") {
  World world;
  world.stubborn = true;
  CHECK(world.adopt() == 1);
  CHECK(world.err.str().find("this took longer than --timeout: wait until the last pod of Kueue has ended") !=
        std::string::npos);
  CHECK(world.there(kHooks + "validatingwebhookconfigurations/kueue-validating-webhook-configuration"));
  CHECK_FALSE(is_muster_identity(string_at(world.at(kKueueLease), {"spec", "holderIdentity"})));
  world.stubborn = false;
  CHECK(world.adopt() == 0);
}

TEST_CASE("adopt: what a tenant calls as Kueue is called neither holds the move up nor is touched") {
  World world;
  const std::string theirs = "/apis/apps/v1/namespaces/tenant/deployments/kueue-controller-manager";
  const std::string lease = "/apis/coordination.k8s.io/v1/namespaces/tenant/leases/c1f6bfd2.kueue.x-k8s.io";
  world.cluster.put(theirs, deployment_of("kueue", 1));
  world.cluster.put(lease, {{"spec", {{"holderIdentity", "kueue-controller-manager-a-b_1"}}}});
  CHECK(world.adopt() == 0);
  CHECK(world.at(theirs)["spec"]["replicas"] == 1);
  CHECK(world.at(lease)["spec"]["holderIdentity"] == "kueue-controller-manager-a-b_1");
  CHECK(world.undo() == 0);
}

TEST_CASE("adopt: where there is no Kueue nothing is adopted") {
  World world;
  for (const char* path : {kKueue, kKueuePod, kKueueLease}) world.cluster.objects.erase(path);
  world.cluster.after_write = nullptr;
  std::erase_if(world.cluster.objects, [](const auto& entry) {
    return entry.first.find("kueue-") != std::string::npos || entry.first.find("/apiservices/") != std::string::npos;
  });
  CHECK(world.adopt() == 0);
  CHECK(world.out.str() == "Kueue is not there: there is nothing to adopt.\n");
}

TEST_CASE("adopt: JobSet's controller stays unless it is asked for, and then muster restarts once") {
  World stays(true);
  CHECK(stays.adopt() == 0);
  CHECK(stays.at(kJobSet)["spec"]["replicas"] == 1);
  World world(true);
  AdoptFlags flags;
  flags.jobset = true;
  CHECK(world.adopt(flags) == 0);
  CHECK(world.at(kJobSet)["spec"]["replicas"] == 0);
  CHECK(label(world.at(kDefinitions + "jobsets.jobset.x-k8s.io"), "app.kubernetes.io/name") == "muster");
  CHECK_FALSE(world.there(kHooks + "validatingwebhookconfigurations/jobset-validating-webhook-configuration"));
  CHECK(is_muster_identity(
      string_at(world.at("/apis/coordination.k8s.io/v1/namespaces/jobset-system/leases/6d4f6a47.jobset.x-k8s.io"),
                {"spec", "holderIdentity"})));
  const json& annotations = world.at(kMuster)["spec"]["template"]["metadata"]["annotations"];
  CHECK(annotations["muster.batch/adopted"].get<std::string>().starts_with("jobset-uid-"));
  CHECK(world.undo() == 0);
  CHECK(world.at(kJobSet)["spec"]["replicas"] == 1);
  CHECK(label(world.at(kDefinitions + "jobsets.jobset.x-k8s.io"), "app.kubernetes.io/name") == std::nullopt);
}

TEST_CASE("definitions: fields are added below properties and items, and nothing that is there changes") {
  const auto with = [](json schema) {
    return json{{"spec", {{"versions", {{{"name", "v1"}, {"schema", {{"openAPIV3Schema", std::move(schema)}}}}}}}}};
  };
  const json live = with({{"properties",
                           {{"a", {{"type", "string"}, {"maxLength", 3}}},
                            {"list", {{"items", {{"properties", {{"x", {{"type", "string"}}}}}}}}},
                            {"free", {{"x-kubernetes-preserve-unknown-fields", true}}},
                            {"map", {{"additionalProperties", {{"type", "string"}}}}}}}});
  const json own = with({{"properties",
                          {{"a", {{"type", "integer"}}},
                           {"b", {{"type", "string"}}},
                           {"list", {{"items", {{"properties", {{"y", {{"type", "string"}}}}}}}}},
                           {"free", {{"properties", {{"z", {{"type", "string"}}}}}}},
                           {"map", {{"properties", {{"z", {{"type", "string"}}}}}}}}}});
  CHECK(missing_fields(live, own) == std::vector<std::string>{"v1: b", "v1: list[].y"});
  const json merged = merged_definition(live, own)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
  CHECK(merged["a"] == json{{"type", "string"}, {"maxLength", 3}});
  CHECK(merged["b"] == json{{"type", "string"}});
  CHECK(merged["list"]["items"]["properties"].size() == 2);
  CHECK_FALSE(merged["free"].contains("properties"));
  CHECK_FALSE(merged["map"].contains("properties"));
  CHECK(missing_fields(merged_definition(live, own), own).empty());
}
