// A replica whose watches are broken becomes the leader: it must not decide on what it saw before.
#include <doctest/doctest.h>

#include "test/simulation/gangs.h"
#include "test/simulation/queues.h"
#include "test/world/world.h"

namespace stale_leader_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;
using world::World;

namespace {

// The first one leads.
void begin(World& world) {
  for (const json& object : queues(1)) require_done(world.create(object));
  world.elect(0);
  world.run_for(5s);
}

json long_job(const std::string& name) {
  json job = queued_job(1, name);
  job["spec"]["template"]["metadata"]["annotations"] = {{world::kRunSeconds, "600"}};
  return job;
}

bool runs(const World& world, const char* job) {
  return world.pods_running(std::string(job) + "-") > 0;
}

}  // namespace

TEST_CASE("simulation: what the leader before it admitted counts for a leader whose watch of Workloads is broken") {
  World world({.seed = 1, .replicas = 2});
  begin(world);
  world.break_watch(1, kWorkloads, 60s);
  require_done(world.create(long_job("first")));
  REQUIRE(world.run_until([&] { return runs(world, "first"); }, 1min));
  world.elect(1);
  require_done(world.create(queued_job(1, "second")));
  world.run_for(40s);
  CHECK_FALSE(runs(world, "second"));
  world.run_for(1min);
  CHECK_FALSE(runs(world, "second"));
  INFO(world.report());
  CHECK(world.violations().empty());
}

TEST_CASE("simulation: a queue that was stopped before the leader changed stays stopped for the new one") {
  World world({.seed = 1, .replicas = 2});
  begin(world);
  world.break_watch(1, kClusterQueues, 60s);
  require_done(world.patch({&kClusterQueues, "", "cluster"}, {{"spec", {{"stopPolicy", "Hold"}}}}));
  world.run_for(5s);
  world.elect(1);
  require_done(world.create(queued_job(1, "held")));
  world.run_for(2min);
  CHECK_FALSE(runs(world, "held"));
  require_done(world.patch({&kClusterQueues, "", "cluster"}, {{"spec", {{"stopPolicy", "None"}}}}));
  CHECK(world.run_until([&] { return runs(world, "held"); }, 1min));
  CHECK(world.violations().empty());
}

}  // namespace stale_leader_test
