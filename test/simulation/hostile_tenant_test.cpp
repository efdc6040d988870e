// A tenant who wants more than is admitted: known ways one by one, and all of them in
// seeded random order.
#include <doctest/doctest.h>

#include <deque>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/invariants/overrun.h"
#include "test/world/tenant.h"
#include "test/world/world.h"

namespace hostile_tenant_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Runs for ten hours.
json long_job(int pods, const std::string& name) {
  json job = queued_job(pods, name);
  job["spec"].erase("completionMode");
  job["spec"]["completions"] = 1000;
  job["spec"]["template"]["metadata"]["annotations"] = {{"simulation.muster.batch/run-seconds", "36000"}};
  return job;
}

json long_jobset(int pods) {
  json spec = long_job(pods, "w")["spec"];
  return {
      {"apiVersion", kJobSets.api_version},
      {"kind", "JobSet"},
      {"metadata", {{"name", "train"}, {"namespace", "default"}, {"labels", {{kQueueNameLabel, "team"}}}}},
      {"spec", {{"replicatedJobs", json::array({{{"name", "w"}, {"replicas", 1}, {"template", {{"spec", spec}}}}})}}}};
}

json owner_reference(const World& world, const ObjectKey& key) {
  return json::array({{{"apiVersion", key.type->api_version},
                       {"kind", key.type->kind},
                       {"name", key.name},
                       {"uid", world.get(key)["metadata"]["uid"]},
                       {"controller", true}}});
}

WorldOptions options(bool all_managed = false, SuspendGuard guard = SuspendGuard::kEnforce) {
  WorldOptions options;
  options.queues.rules.manage_jobs_without_queue_name = all_managed;
  options.queues.rules.suspend_guard = guard;
  return options;
}

// Two cpus in LocalQueue `team`.
struct Cluster {
  explicit Cluster(const WorldOptions& options) : world(options) {
    for (const json& object : queues(2)) require_done(world.create(object));
  }
  bool wait_for_pods(int pods, const std::string& prefix) {
    return world.run_until([&] { return world.pods_running(prefix) == pods; }, 2min);
  }
  // The most pods that run at once.
  int most_pods(const std::string& prefix, Duration duration) {
    int most = 0;
    world.run_until(
        [&] {
          most = std::max(most, world.pods_running(prefix));
          return false;
        },
        duration);
    return most;
  }
  Answer patch_job(const std::string& name, const json& patch) { return world.patch(job_key(name), patch); }

  World world;
};

}  // namespace

TEST_CASE("hostile tenant: a forged controller starts no queued Job") {
  for (const SuspendGuard guard : {SuspendGuard::kEnforce, SuspendGuard::kObserve}) {
    Cluster cluster(options(false, guard));
    require_done(cluster.world.create(long_job(50, "big")));
    require_done(cluster.world.create(long_job(100, "anchor")));
    cluster.world.run_for(10s);
    const json owners = owner_reference(cluster.world, job_key("anchor"));
    const Answer owned = cluster.patch_job("big", {{"metadata", {{"ownerReferences", owners}}}});
    cluster.world.run_for(1s);
    const Answer started = cluster.patch_job("big", {{"spec", {{"suspend", false}}}});
    INFO(cluster.world.report());
    if (guard == SuspendGuard::kEnforce) {
      CHECK(owned.outcome == reconcilers::WriteOutcome::kRefused);
      CHECK(started.outcome == reconcilers::WriteOutcome::kRefused);
      CHECK(cluster.most_pods("big", 5min) == 0);
    } else {
      // Without the guard it is stopped as soon as it is seen.
      cluster.world.run_for(30s);
      CHECK(cluster.most_pods("big", 5min) == 0);
    }
    CHECK(cluster.world.violations().empty());
  }
}

TEST_CASE("hostile tenant: a Job that is created below a queued Job is queued itself") {
  for (const bool labelled : {true, false}) {
    Cluster cluster(options(true));
    require_done(cluster.world.create(long_job(100, "anchor")));
    cluster.world.run_for(5s);
    json part = long_job(50, "part");
    if (!labelled) part["metadata"].erase("labels");
    part["metadata"]["ownerReferences"] = owner_reference(cluster.world, job_key("anchor"));
    require_done(cluster.world.create(part));
    CHECK(cluster.most_pods("part", 2min) == 0);
    CHECK(cluster.world.list(kWorkloads).size() == 2);
  }
}

TEST_CASE("hostile tenant: a running Job neither hides nor grows") {
  const json foreign = json::array({{{"apiVersion", "example.com/v1"},
                                     {"kind", "JobSet"},
                                     {"name", "x"},
                                     {"uid", "11111111-1111-1111-1111-111111111111"},
                                     {"controller", true}}});
  for (const SuspendGuard guard : {SuspendGuard::kEnforce, SuspendGuard::kObserve}) {
    Cluster cluster(options(false, guard));
    require_done(cluster.world.create(long_job(2, "a")));
    REQUIRE(cluster.wait_for_pods(2, "a"));
    cluster.patch_job("a", {{"metadata", {{"ownerReferences", foreign}}}});
    cluster.world.run_for(2s);
    const Answer grown = cluster.patch_job("a", {{"spec", {{"parallelism", 50}}}});
    INFO(cluster.world.report());
    if (guard == SuspendGuard::kEnforce) {
      CHECK(grown.outcome == reconcilers::WriteOutcome::kRefused);
      CHECK(cluster.most_pods("a", 2min) == 2);
    } else {
      cluster.world.run_for(1min);
      CHECK(cluster.most_pods("a", 2min) == 0);
    }
    CHECK(cluster.world.violations().empty());
  }
}

TEST_CASE("hostile tenant: a Job that grows while it is suspended in one request is queued anew") {
  Cluster cluster(options());
  require_done(cluster.world.create(long_job(2, "a")));
  REQUIRE(cluster.wait_for_pods(2, "a"));
  require_done(cluster.patch_job("a", {{"spec", {{"parallelism", 50}, {"suspend", true}}}}));
  REQUIRE(cluster.wait_for_pods(0, "a"));
  CHECK(cluster.most_pods("a", 2min) == 0);
  require_done(cluster.patch_job("a", {{"spec", {{"parallelism", 1}}}}));
  CHECK(cluster.wait_for_pods(1, "a"));
}

TEST_CASE("hostile tenant: the Jobs of an admitted JobSet stay as large as it says") {
  for (const SuspendGuard guard : {SuspendGuard::kEnforce, SuspendGuard::kObserve}) {
    Cluster cluster(options(false, guard));
    require_done(cluster.world.create(long_jobset(1)));
    REQUIRE(cluster.wait_for_pods(1, "train"));
    const Answer grown = cluster.patch_job("train-w-0", {{"spec", {{"parallelism", 50}}}});
    INFO(cluster.world.report());
    if (guard == SuspendGuard::kEnforce) {
      CHECK(grown.outcome == reconcilers::WriteOutcome::kRefused);
      CHECK(cluster.most_pods("train", 2min) == 1);
    } else {
      cluster.world.run_for(30s);
      CHECK(cluster.most_pods("train", 2min) == 1);
      CHECK(cluster.world.get(job_key("train-w-0"))["spec"]["parallelism"] == 1);
    }
    CHECK(cluster.world.violations().empty());
  }
}

TEST_CASE("hostile tenant: the Jobs of a JobSet that waits start no pod") {
  Cluster cluster(options());
  require_done(cluster.world.create(long_jobset(3)));
  REQUIRE(cluster.world.run_until([&] { return !cluster.world.get(job_key("train-w-0")).is_null(); }, 1min));
  for (int i = 0; i < 3; ++i) {
    CHECK(cluster.patch_job("train-w-0", {{"spec", {{"suspend", false}}}}).outcome ==
          reconcilers::WriteOutcome::kRefused);
    CHECK(cluster.most_pods("train", 1min) == 0);
  }
}

TEST_CASE("hostile tenant: nobody else makes a Job of an admitted JobSet") {
  for (const SuspendGuard guard : {SuspendGuard::kEnforce, SuspendGuard::kObserve}) {
    Cluster cluster(options(true, guard));
    require_done(cluster.world.create(long_jobset(1)));
    REQUIRE(cluster.wait_for_pods(1, "train"));
    json part = long_job(50, "train-w-7");
    part["metadata"]["labels"] = cluster.world.get(job_key("train-w-0"))["metadata"]["labels"];
    part["metadata"]["ownerReferences"] = owner_reference(cluster.world, {&kJobSets, "default", "train"});
    const Answer made = cluster.world.create(part);
    CHECK(made.done() == (guard == SuspendGuard::kObserve));
    cluster.world.run_for(30s);
    CHECK(cluster.most_pods("train-w-7", 1min) == 0);
    CHECK(cluster.world.pods_running("train-w-0") == 1);
    CHECK(cluster.world.get(job_key("train-w-7")).is_null());
  }
}

TEST_CASE("hostile tenant: a queue name that is taken away leaves nothing behind") {
  for (const bool all_managed : {false, true}) {
    Cluster cluster(options(all_managed));
    require_done(cluster.world.create(long_job(50, "big")));
    cluster.world.run_for(10s);
    require_done(cluster.patch_job("big", {{"metadata", {{"labels", {{std::string(kQueueNameLabel), nullptr}}}}}}));
    cluster.world.run_for(1min);
    const json workloads = cluster.world.list(kWorkloads);
    REQUIRE(workloads.size() == (all_managed ? 1 : 0));
    // It waits for a queue name, and no write of an empty one is tried again and again.
    if (all_managed) CHECK_FALSE(workloads[0]["spec"].contains("queueName"));
    const WriteCounts before = cluster.world.writes(kWorkloads);
    cluster.world.run_for(10min);
    INFO(cluster.world.report());
    CHECK(cluster.world.writes(kWorkloads).patch == before.patch);
    CHECK(cluster.world.writes(kWorkloads).create == before.create);
    CHECK(cluster.world.violations().empty());
  }
}

TEST_CASE("hostile tenant: a Workload whose owner is taken away holds no quota for ever") {
  Cluster cluster(options());
  require_done(cluster.world.create(long_job(2, "a")));
  REQUIRE(cluster.wait_for_pods(2, "a"));
  const std::string name = cluster.world.list(kWorkloads).at(0)["metadata"]["name"];
  require_done(cluster.world.patch({&kWorkloads, "default", name}, {{"metadata", {{"ownerReferences", nullptr}}}}));
  require_done(cluster.world.create(long_job(2, "b")));
  INFO(cluster.world.report());
  CHECK(cluster.world.run_until([&] { return cluster.world.pods_running("a") + cluster.world.pods_running("b") == 2; },
                                5min));
  require_done(cluster.world.remove(job_key("a")));
  CHECK(cluster.wait_for_pods(2, "b"));
}

TEST_CASE("hostile tenant: an owner that muster does not run makes quota nobody's own") {
  for (const bool trusted : {false, true}) {
    WorldOptions chosen = options();
    if (trusted) chosen.queues.rules.external_frameworks = {"Train.v1.example.com"};
    World world(chosen);
    for (json object : queues(2)) {
      if (object["kind"] == "ClusterQueue") object["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
      require_done(world.create(object));
    }
    // The owner need not even be of the kind that the reference says.
    require_done(world.create({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "mine"}}}}));
    const json owner = {{"apiVersion", "example.com/v1"},
                        {"kind", "Train"},
                        {"name", "mine"},
                        {"uid", world.get({&kConfigMaps, "default", "mine"})["metadata"]["uid"]},
                        {"controller", true}};
    const ObjectKey hoard{&kWorkloads, "default", "hoard"};
    const json job = long_job(2, "big");
    require_done(
        world.create({{"apiVersion", kWorkloads.api_version},
                      {"kind", "Workload"},
                      {"metadata", {{"name", "hoard"}, {"ownerReferences", json::array({owner})}}},
                      {"spec",
                       {{"queueName", "team"},
                        {"priority", -5},
                        {"podSets", {{{"name", "main"}, {"count", 2}, {"template", job["spec"]["template"]}}}}}}}));
    world.run_for(30s);
    CHECK(world.condition_true(hoard, "QuotaReserved") == trusted);
    require_done(world.create(job));
    INFO(world.report());
    if (trusted) {
      // Its controller has the pods to stop first.
      REQUIRE(world.run_until([&] { return world.condition_true(hoard, "Evicted"); }, 1min));
      CHECK(world.pods_running("big") == 0);
    } else {
      CHECK(world.run_until([&] { return world.pods_running("big") == 2; }, 1min));
      CHECK(to_text(world.get(hoard)["status"]).find("integrations.externalFrameworks") != std::string::npos);
    }
    CHECK(world.violations().empty());
  }
}

TEST_CASE("hostile tenant: whatever is tried in whatever order no pod runs without quota") {
  for (uint64_t seed = 1; seed <= seeds(16); ++seed) {
    WorldOptions chosen = options(seed % 2 == 0);
    chosen.seed = seed;
    chosen.namespaces = {"default", "other"};
    World world(chosen);
    for (const json& object : queues(6)) require_done(world.create(object));
    json neighbour = queues(6)[2];
    neighbour["metadata"]["namespace"] = "other";
    require_done(world.create(neighbour));
    json victim = long_job(2, "victim");
    victim["metadata"]["namespace"] = "other";
    require_done(world.create(victim));
    REQUIRE(world.run_until([&] { return world.pods_running("victim", "other") == 2; }, 1min));

    Overrun overrun(world, seed % 2 == 0);
    HostileTenant tenant(world, seed, "default");
    std::deque<std::string> acts;
    std::string broken;
    const auto is_broken = [&] {
      for (const std::string& each : overrun.check()) broken += each + "\n";
      if (world.pods_running("victim", "other") != 2) broken += "the neighbour's job was disturbed\n";
      return !broken.empty();
    };
    for (int i = 0; i < 80 && broken.empty(); ++i) {
      acts.push_back(std::to_string(world.elapsed() / 1ms) + " ms " + tenant.act());
      if (acts.size() > 25) acts.pop_front();
      world.run_until(is_broken, std::chrono::milliseconds(100 + seed * 37 * i % 3000));
    }
    std::string told;
    for (const std::string& act : acts) told += act + "\n";
    INFO(world.report());
    INFO(told);
    CHECK_MESSAGE(broken.empty(), "seed ", seed, ": ", broken);
  }
}

}  // namespace hostile_tenant_test
