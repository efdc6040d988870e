// muster adopt: the order of its steps, an interruption at every write, and the way back.
#include <doctest/doctest.h>

#include "test/commands/moving/adopt_world.h"

namespace adopt_test {

using namespace muster;
using namespace muster::commands;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("adopt: Kueue is replaced, what is stored is rewritten and no field of a definition goes") {
  World world;
  const int code = world.adopt();
  INFO(world.out.str() << world.err.str());
  REQUIRE(code == 0);
  CHECK(world.at(kKueue)["spec"]["replicas"] == 0);
  CHECK(runtime::is_muster_identity(string_at(world.at(kKueueLease), {"spec", "holderIdentity"})));
  CHECK(int_at(world.at(kKueueLease), {"spec", "leaseDurationSeconds"}) > 1'000'000'000);
  CHECK_FALSE(world.there(kHooks + "mutatingwebhookconfigurations/kueue-mutating-webhook-configuration"));
  CHECK_FALSE(world.there("/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io"));
  CHECK(world.there(kOwnApiService));  // by its label: it has a name of Kueue's
  for (const manifests::DefinedKind& kind : manifests::defined_kinds()) {
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
      CHECK(world.err.str().find("the connection broke; muster adopt continues from here") != std::string::npos);
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
    CHECK((holder.empty() || !runtime::is_muster_identity(holder)));
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
  const char* order[] = {"1. await-start",  "2. record",         "3. definitions", "4. register",
                         "5. scale-down",   "6. await-end",      "7. take-lease",  "8. remove-webhooks",
                         "9. await-muster", "10. store-v1beta2", "11. rewrite",    "Nothing was changed"};
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
      {"an image that cannot be pulled",
       [](World& w) {
         w.cluster.objects[kMusterPod]["status"]["containerStatuses"] = {
             {{"name", "muster"},
              {"image", "r/muster:0.1.0"},
              {"state", {{"waiting", {{"reason", "ImagePullBackOff"}, {"message", "Back-off pulling"}}}}}}};
       },
       "no pod of muster runs: its image r/muster:0.1.0 cannot be pulled (ImagePullBackOff: Back-off pulling)"},
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
  CHECK_FALSE(runtime::is_muster_identity(string_at(world.at(kKueueLease), {"spec", "holderIdentity"})));
  world.stubborn = false;
  CHECK(world.adopt() == 0);
}

TEST_CASE("adopt: as long as no pod of muster runs nothing is changed") {
  World world;
  world.cluster.objects[kMusterPod].erase("status");
  const std::string before = world.picture();
  CHECK(world.adopt() == 1);
  CHECK(world.err.str().find("this took longer than --timeout: wait until a pod of muster runs") != std::string::npos);
  CHECK(world.cluster.writes == 0);
  world.cluster.put(kMusterPod, running_pod("muster"));
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
  CHECK(runtime::is_muster_identity(
      string_at(world.at("/apis/coordination.k8s.io/v1/namespaces/jobset-system/leases/6d4f6a47.jobset.x-k8s.io"),
                {"spec", "holderIdentity"})));
  const json& annotations = world.at(kMuster)["spec"]["template"]["metadata"]["annotations"];
  CHECK(annotations["muster.batch/adopted"].get<std::string>().starts_with("jobset-uid-"));
  CHECK(world.undo() == 0);
  CHECK(world.at(kJobSet)["spec"]["replicas"] == 1);
  CHECK(label(world.at(kDefinitions + "jobsets.jobset.x-k8s.io"), "app.kubernetes.io/name") == std::nullopt);
}

}  // namespace adopt_test
