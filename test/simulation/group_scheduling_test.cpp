// Start as a group, whole lives: real engine, webhooks and waiters, in virtual time. The
// invariants of simulation/invariants.h hold in every step of each of these tests: no
// main container starts before all pods of its run have started, and a run is decided once.
// Which state leads to which write is test/reconcilers/group_scheduling_*_test.cpp.
#include <doctest/doctest.h>

#include "api/json.h"
#include "jobs/group_scheduling.h"
#include "simulation/world.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"

using namespace muster;
using namespace muster::simulation;
using namespace std::chrono_literals;
using muster::test::gang_of;
using muster::test::job_key;
using muster::test::pod_template;
using nlohmann::json;

namespace {

const ObjectKey kTrain{&kJobSets, "default", "train"};
const ObjectKey kJobMap{&kConfigMaps, "default", "train-job-group-scheduling"};
const ObjectKey kJobSetMap{&kConfigMaps, "default", "train-group-scheduling"};

void require_done(const Answer& answer) {
  REQUIRE_MESSAGE(answer.done(), answer.message);
}

// Runs for ever unless something ends it.
json replicated(const char* name, int replicas, int pods, const char* run_seconds = "1000000") {
  json pod = pod_template();
  pod["metadata"]["annotations"] = {{kRunSeconds, run_seconds}};
  return {
      {"name", name},
      {"replicas", replicas},
      {"template", {{"spec", {{"parallelism", pods}, {"completions", pods}, {"backoffLimit", 3}, {"template", pod}}}}}};
}

// "driver" of one pod and "workers" of two Jobs with two pods each.
json gang_jobset(int timeout_seconds = 300, const json& spec = json::object()) {
  json object = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                 {"kind", "JobSet"},
                 {"metadata", {{"name", "train"}, {"namespace", "default"}}},
                 {"spec",
                  {{"groupSchedulingConfig", {{"timeoutAfterSeconds", timeout_seconds}}},
                   {"replicatedJobs", json::array({replicated("driver", 1, 1), replicated("workers", 2, 2)})}}}};
  object["spec"].merge_patch(spec);
  return object;
}

json long_gang(int pods, int timeout_seconds = 300) {
  json job = gang_of(pods, timeout_seconds);
  job["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, "1000000"}};
  return job;
}

bool waits(World& world, int pods) {
  return world.run_until([&] { return world.pods_waiting("train") == pods; }, 3min);
}

bool runs(World& world, int pods, Duration limit = 3min) {
  return world.run_until([&] { return world.pods_running("train") == pods; }, limit);
}

std::string condition_text(const World& world, const ObjectKey& key, std::string_view type) {
  const json object = world.get(key);
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) == type)
      return std::string(string_at(condition, {"status"})) + " " + std::string(string_at(condition, {"reason"})) + " " +
             std::string(string_at(condition, {"message"}));
  }
  return "";
}

std::string decided(const World& world, const ObjectKey& map, std::string_view key) {
  const json object = world.get(map);
  return std::string(string_at(object, {"data", key}));
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void suspend(World& world, const ObjectKey& key, bool suspended) {
  require_done(world.patch(key, {{"spec", {{"suspend", suspended}}}}));
}

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

TEST_CASE("gang life: a foreign ConfigMap is never touched and the deadline decides") {
  World world({});
  const json foreign = {{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", {{"name", kJobMap.name}, {"namespace", "default"}}},
                        {"data", {{"started", "everybody"}}}};
  require_done(world.create(foreign));
  const json before = world.get(kJobMap);
  require_done(world.create(long_gang(3, 120)));
  INFO(world.report());
  REQUIRE(waits(world, 3));
  world.run_for(30s);
  CHECK(contains(condition_text(world, job_key(), "GroupStarted"), "False ConfigMapNameTaken"));
  REQUIRE(world.run_until([&] { return world.condition_true(job_key(), "Failed"); }, 5min));
  CHECK(contains(condition_text(world, job_key(), "Failed"), kJobMap.name));
  CHECK(world.get(kJobMap) == before);
  CHECK(world.settle());
}

TEST_CASE("gang life: a foreign ConfigMap that goes in time lets the gang start") {
  World world({});
  require_done(world.create(
      {{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", kJobMap.name}, {"namespace", "default"}}}}));
  require_done(world.create(long_gang(3)));
  INFO(world.report());
  REQUIRE(waits(world, 3));
  require_done(world.remove(kJobMap));
  CHECK(runs(world, 3));
  CHECK(world.condition_true(job_key(), "GroupStarted"));
  CHECK(world.settle());
}

TEST_CASE("gang life: a deleted ConfigMap comes back with what was decided") {
  World world({});
  world.nodes().hold("train-2-");
  require_done(world.create(long_gang(3)));
  INFO(world.report());
  REQUIRE(waits(world, 2));
  require_done(world.remove(kJobMap));
  REQUIRE(world.run_until([&] { return !world.get(kJobMap).is_null(); }, 10s));
  world.run_for(30s);
  CHECK(world.pods_running("train") == 0);
  world.nodes().release("train-2-");
  REQUIRE(runs(world, 3));
  require_done(world.remove(kJobMap));
  const std::string name(string_at(world.list(kPods).front(), {"metadata", "name"}));
  require_done(world.remove({&kPods, "default", name}));
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 2; }, 1min));
  CHECK(runs(world, 3));
  CHECK(world.settle());
}

TEST_CASE("gang life: killed after each of its writes in turn a gang starts or ends all the same") {
  for (const bool complete : {true, false}) {
    bool killed = true;
    int n = 1;
    for (; killed && n < 80; ++n) {
      World world({.seed = static_cast<uint64_t>(n)});
      world.kill_after_write(n, std::chrono::seconds(n % 3 == 0 ? 100 : 1));
      if (!complete) world.nodes().hold("train-workers-1-1-");
      require_done(world.create(gang_jobset(120)));
      INFO(n);
      INFO(world.report());
      if (complete) {
        CHECK(runs(world, 5, 10min));
      } else {
        CHECK(world.run_until([&] { return world.condition_true(kTrain, "Failed"); }, 10min));
        CHECK(contains(condition_text(world, kTrain, "Failed"), "train-workers-1-1"));
      }
      CHECK(world.settle());
      killed = world.process(0).starts() > 1;
    }
    CHECK(n > 8);
    CHECK(n < 80);
  }
}

TEST_CASE("gang life: while muster is away waiters keep waiting and start when it is back") {
  World world({});
  world.nodes().hold("train-2-");
  require_done(world.create(long_gang(3, 60)));
  INFO(world.report());
  REQUIRE(waits(world, 2));
  world.kill(0);
  world.nodes().release("train-2-");
  world.run_for(150s);  // past the deadline, within the waiters' own limit
  CHECK(world.pods_running("train") == 0);
  world.restart(0);
  CHECK(runs(world, 3));
  CHECK(world.settle());
}

TEST_CASE("gang life: a large gang is released in time") {
  World world({.nodes = {.nodes = 10, .pods_per_node = 110}});
  world.nodes().hold("train-999-");
  require_done(world.create(long_gang(1000)));
  REQUIRE(waits(world, 999));
  world.nodes().release("train-999-");
  INFO(world.report());
  REQUIRE(waits(world, 1000));
  CHECK(runs(world, 1000, 15s));
  CHECK(world.writes(kConfigMaps).all() == 3);
  CHECK(world.writes(kPods).patch >= 999);
  CHECK(world.writes(kPods).patch <= 4000);
  CHECK(world.settle());
}

TEST_CASE("gang life: storms of faults break no invariant and end") {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    World world({.seed = seed, .replicas = 2, .faults = Faults::storm()});
    const bool complete = seed % 3 != 0;
    if (!complete) world.nodes().hold("train-workers-0-0-");
    require_done(world.create(gang_jobset(200)));
    world.run_for(std::chrono::seconds(20 + 10 * (seed % 7)));
    if (seed % 4 == 1) {
      suspend(world, kTrain, true);
      world.run_for(std::chrono::seconds(seed));
      suspend(world, kTrain, false);
    }
    if (seed % 5 == 2) world.remove(kJobSetMap);
    world.run_for(60s);
    world.calm();
    INFO(world.report());
    const auto ended = [&] { return world.condition_true(kTrain, "Failed") || world.pods_running("train") == 5; };
    CHECK(world.run_until(ended, 30min));
    if (!complete) CHECK(contains(condition_text(world, kTrain, "Failed"), "train-workers-0-0"));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}
