// Start as a group when things go wrong, whole lives: ConfigMaps that another user made or deleted, muster killed or
// away, storms of faults. The rest is group_scheduling_test.cpp.
#include <doctest/doctest.h>

#include "test/simulation/gangs.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace group_scheduling_faults_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("gang life: a foreign ConfigMap is never touched and the deadline decides") {
  World world({});
  const json foreign = {{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", {{"name", kJobMap.name}, {"namespace", "default"}}},
                        {"data", {{"notes", "mine"}}}};
  require_done(world.create(foreign));
  const json before = world.get(kJobMap);
  require_done(world.create(long_gang(3, 120)));
  INFO(world.report());
  REQUIRE(waits(world, 3));
  world.run_for(30s);
  CHECK(contains(condition_text(world, job_key(), "GroupStarted"), "False ConfigMapNameConflict"));
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
  CHECK(world.writes(kPods).patch_status >= 999);
  CHECK(world.writes(kPods).patch_status <= 4000);
  CHECK(world.settle());
}

TEST_CASE("gang life: storms of faults break no invariant and end") {
  for (uint64_t seed = 1; seed <= seeds(25); ++seed) {
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

}  // namespace group_scheduling_faults_test
