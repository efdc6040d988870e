// Start as a group, whole lives: real engine, webhooks and waiters, in virtual time. The
// invariants of test/world/invariants/invariants.h hold in every step of each of these tests: no
// main container starts before all pods of its run have started, and a run is decided once.
// Which state leads to which write is test/reconcilers/group_scheduling_*_test.cpp.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "test/simulation/gangs.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/world/world.h"

namespace group_scheduling_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

bool pods_are_gone(World& world) {
  return world.run_until([&] { return world.list(kPods).empty(); }, 1min);
}

}  // namespace

TEST_CASE("gang life: a JobSet waits for its last pod and then starts within seconds of it") {
  World world({});
  world.nodes().hold("train-workers-1-1-");
  require_done(world.create(gang_jobset()));
  INFO(world.report());
  REQUIRE(waits(world, 4));
  world.run_for(20s);
  CHECK(world.pods_running("train") == 0);
  CHECK(contains(condition_text(world, kTrain, "GroupStarted"), "False WaitingForPods 4 of 5 pods have started"));
  CHECK(contains(condition_text(world, kTrain, "GroupStarted"), "missing: train-workers-1-1-"));
  world.nodes().release("train-workers-1-1-");
  REQUIRE(waits(world, 5));
  CHECK(runs(world, 5, 8s));
  world.run_for(5s);
  CHECK(world.condition_true(kTrain, "GroupStarted"));
  CHECK(world.has_event("GroupWaiting"));
  CHECK(world.has_event("GroupStarted"));
  CHECK(world.settle());
}

TEST_CASE("gang life: only targets wait") {
  World world({});
  world.nodes().hold("train-workers-0-0-");
  require_done(world.create(gang_jobset(300, {{"groupSchedulingConfig", {{"targetReplicatedJobs", {"workers"}}}}})));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("train-driver") == 1; }, 1min));
  REQUIRE(waits(world, 3));
  world.nodes().release("train-workers-0-0-");
  CHECK(runs(world, 5));
  CHECK(world.settle());
}

TEST_CASE("gang life: a JobSet whose last pod never comes fails at its deadline and names it") {
  for (const HoldAt stage : {HoldAt::kScheduling, HoldAt::kImagePull}) {
    World world({});
    world.nodes().hold("train-workers-0-1-", stage);
    require_done(world.create(gang_jobset(120, {{"failurePolicy", {{"maxRestarts", 3}}}})));
    INFO(world.report());
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Failed"); }, 5min));
    CHECK(world.elapsed() >= 120s);
    CHECK(world.elapsed() <= 140s);
    const std::string text = condition_text(world, kTrain, "Failed");
    CHECK(contains(text, "GroupSchedulingTimeout 4 of 5 pods have started"));
    CHECK(contains(text, "train-workers-0-1-"));
    CHECK(contains(text, stage == HoldAt::kScheduling ? "Unschedulable" : "Pull"));
    CHECK(world.settle());
    CHECK(world.pods_waiting("train") == 0);
    CHECK(int_at(world.get(kTrain), {"status", "restarts"}).value_or(0) == 0);
  }
}

TEST_CASE("gang life: a target that waits for a slow one outside of the group is no reason to time out") {
  nlohmann::json later = replicated("c", 1, 1);
  later["dependsOn"] = json::array({{{"name", "b"}, {"status", "Complete"}}});
  World world({});
  require_done(world.create(gang_jobset(
      60, {{"groupSchedulingConfig", {{"targetReplicatedJobs", {"a", "c"}}}},
           {"replicatedJobs", json::array({replicated("a", 1, 1), replicated("b", 1, 1, "600"), later})}})));
  INFO(world.report());
  REQUIRE(waits(world, 1));
  // Longer than the group's timeout and than a waiter's usual limit.
  world.run_for(400s);
  CHECK(world.pods_waiting("train") == 1);
  CHECK(contains(condition_text(world, kTrain, "GroupStarted"), "c waits until b is complete"));
  REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "GroupStarted"); }, 10min));
  CHECK(world.settle());
}

TEST_CASE("gang life: onTimeout Suspend frees the nodes and a resumed JobSet is a new run") {
  World world({});
  world.nodes().hold("train-workers-0-1-");
  require_done(world.create(gang_jobset(120, {{"groupSchedulingConfig", {{"onTimeout", "Suspend"}}}})));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return bool_at(world.get(kTrain), {"spec", "suspend"}); }, 5min));
  REQUIRE(world.run_until([&] { return world.list(kPods).empty(); }, 1min));
  CHECK_FALSE(world.condition_true(kTrain, "Failed"));
  CHECK(contains(condition_text(world, kTrain, "GroupStarted"), "False GroupSchedulingTimeout"));
  CHECK(world.settle());
  world.nodes().release("train-workers-0-1-");
  suspend(world, kTrain, false);
  CHECK(runs(world, 5));
  CHECK(world.settle());
}

TEST_CASE("gang life: onTimeout Suspend of a Job and a resume in another Kubernetes") {
  for (const bool resumed_jobs_may_change : {true, false}) {
    World world({.api_server = {.resumed_jobs_may_change = resumed_jobs_may_change}});
    world.nodes().hold("train-2-");
    json job = long_gang(3, 60);
    job["metadata"]["annotations"][std::string(kGroupOnTimeoutAnnotation)] = "Suspend";
    require_done(world.create(job));
    INFO(world.report());
    REQUIRE(world.run_until([&] { return bool_at(world.get(job_key()), {"spec", "suspend"}); }, 5min));
    CHECK(world.settle());
    CHECK(world.list(kPods).empty());
    world.nodes().release("train-2-");
    suspend(world, job_key(), false);
    CHECK(runs(world, 3));
    CHECK(world.settle());
  }
}

TEST_CASE("gang life: a queued gang that is too late is evicted and gets another turn") {
  World world({});
  for (const json& object : muster::test::queues(10)) require_done(world.create(object));
  world.nodes().hold("train-2-");
  json job = long_gang(3, 60);
  job["metadata"]["labels"] = {{kQueueNameLabel, "team"}};
  job["spec"]["suspend"] = true;
  require_done(world.create(job));
  INFO(world.report());
  REQUIRE(waits(world, 2));
  REQUIRE(world.run_until([&] { return bool_at(world.get(job_key()), {"spec", "suspend"}); }, 5min));
  CHECK_FALSE(world.condition_true(job_key(), "Failed"));
  CHECK(world.has_event("EvictedDueToPodsReadyTimeout"));
  CHECK(pods_are_gone(world));
  // Its backoff is a minute.
  world.nodes().release("train-2-");
  CHECK(runs(world, 3));
  CHECK(world.settle());
}

TEST_CASE("gang life: a pod that is deleted while it waits is waited for again") {
  World world({});
  world.nodes().hold("train-2-");
  require_done(world.create(long_gang(3)));
  INFO(world.report());
  REQUIRE(waits(world, 2));
  const json pods = world.list(kPods);
  for (const json& pod : pods) {
    if (string_at(pod, {"metadata", "name"}).starts_with("train-0-"))
      require_done(world.remove({&kPods, "default", std::string(string_at(pod, {"metadata", "name"}))}));
  }
  world.nodes().hold("train-0-");
  world.nodes().release("train-2-");
  world.run_for(90s);
  CHECK(world.pods_running("train") == 0);
  world.nodes().release("train-0-");
  CHECK(runs(world, 3));
  CHECK(world.settle());
}

TEST_CASE("gang life: a member that is replaced after the start passes at once") {
  World world({});
  require_done(world.create(long_gang(3)));
  INFO(world.report());
  REQUIRE(runs(world, 3));
  const std::string name(string_at(world.list(kPods).front(), {"metadata", "name"}));
  require_done(world.remove({&kPods, "default", name}));
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 2; }, 1min));
  CHECK(runs(world, 3, 15s));
  CHECK(world.settle());
}

TEST_CASE("gang life: a restarted JobSet starts together again") {
  World world({});
  require_done(world.create(gang_jobset(300, {{"failurePolicy", {{"maxRestarts", 2}}}})));
  INFO(world.report());
  REQUIRE(runs(world, 5));
  const std::string first = decided(world, kJobSetMap, "started");
  world.nodes().hold("train-driver-0-0-");
  for (const json& pod : world.list(kPods)) {
    const std::string name(string_at(pod, {"metadata", "name"}));
    if (name.starts_with("train-workers-0-0-")) CHECK(world.nodes().end_main({&kPods, "default", name}, 1));
  }
  require_done(world.patch({&kJobs, "default", "train-workers-0"}, {{"spec", {{"backoffLimit", 0}}}}));
  REQUIRE(world.run_until([&] { return int_at(world.get(kTrain), {"status", "restarts"}) == 1; }, 5min));
  REQUIRE(waits(world, 4));
  world.run_for(100s);
  CHECK(world.pods_running("train") == 0);
  world.nodes().release("train-driver-0-0-");
  CHECK(runs(world, 5));
  CHECK(decided(world, kJobSetMap, "started") != first);
  CHECK(world.settle());
}

TEST_CASE("gang life: suspended and resumed while it waits and while it runs") {
  World world({});
  world.nodes().hold("train-workers-1-0-");
  require_done(world.create(gang_jobset()));
  INFO(world.report());
  REQUIRE(waits(world, 4));
  suspend(world, kTrain, true);
  REQUIRE(world.run_until([&] { return world.list(kPods).empty(); }, 1min));
  world.run_for(10min);
  suspend(world, kTrain, false);
  REQUIRE(waits(world, 4));
  world.run_for(60s);
  CHECK(world.pods_running("train") == 0);
  world.nodes().release("train-workers-1-0-");
  REQUIRE(runs(world, 5));

  suspend(world, kTrain, true);
  REQUIRE(world.run_until([&] { return world.list(kPods).empty(); }, 1min));
  world.nodes().hold("train-driver-0-0-");
  suspend(world, kTrain, false);
  REQUIRE(waits(world, 4));
  world.run_for(100s);
  CHECK(world.pods_running("train") == 0);
  world.nodes().release("train-driver-0-0-");
  CHECK(runs(world, 5));
  CHECK(world.settle());
}

TEST_CASE("gang life: a suspend that is undone at once never hangs the group") {
  for (int delay = 0; delay < 24; ++delay) {
    World world({.seed = static_cast<uint64_t>(100 + delay)});
    require_done(world.create(gang_jobset()));
    REQUIRE((delay % 2 == 0 ? runs(world, 5) : waits(world, 3)));
    suspend(world, kTrain, true);
    world.run_for(std::chrono::milliseconds(7 * delay));
    suspend(world, kTrain, false);
    INFO(delay);
    INFO(world.report());
    CHECK(runs(world, 5));
    CHECK(world.settle());
    CHECK(world.pods_running("train") == 5);
  }
}

TEST_CASE("gang life: deleted and made again under the same name while it waits and while it runs") {
  for (const bool released : {false, true}) {
    World world({});
    if (!released) world.nodes().hold("train-1-");
    require_done(world.create(long_gang(3)));
    INFO(world.report());
    REQUIRE((released ? runs(world, 3) : waits(world, 2)));
    require_done(world.remove(job_key()));
    world.nodes().hold("train-1-");
    require_done(world.create(long_gang(3)));
    world.run_for(100s);
    CHECK(world.pods_running("train") == 0);
    CHECK(world.pods_waiting("train") == 2);
    world.nodes().release("train-1-");
    CHECK(runs(world, 3));
    CHECK(world.settle());
    CHECK(world.list(kConfigMaps).size() == 1);
  }
}

}  // namespace group_scheduling_test
