// waitForPodsReady.blockAdmission in virtual time, over many orders of events: who is admitted
// while others are not ready.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "api/codec/json.h"
#include "test/simulation/pods_ready_world.h"
#include "test/support/soak.h"

namespace pods_ready_block_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;

TEST_CASE("pods ready: with blockAdmission one Workload is admitted at a time whatever the order of events") {
  for (uint64_t seed = 1; seed <= seeds(15); ++seed) {
    World world(waiting(true, seed));
    const auto history = watch(world);
    submit(world, 20, 6, 2);
    INFO(world.report());
    CHECK(world.run_until([&] { return complete(world, 6) == 6; }, 30min));
    CHECK(history->beside_other == std::vector<std::string>{});
    CHECK(history->admitted.size() == 6);
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("pods ready: without blockAdmission all that fit are admitted at once") {
  World world(waiting(false));
  const auto history = watch(world);
  submit(world, 20, 6, 2);
  CHECK(world.run_until([&] { return complete(world, 6) == 6; }, 30min));
  CHECK_FALSE(history->beside_other.empty());
}

TEST_CASE("pods ready: who waits says for whom and is admitted when that one is ready or gone") {
  World world(waiting(true));
  world.nodes().hold("job0-");
  submit_two(world, 20);
  INFO(world.report());
  REQUIRE(world.run_until([&] { return condition_of(world, "job1", "QuotaReserved") == "False WaitingForPodsReady"; },
                          1min));
  const std::string blocker = std::string(string_at(workload_of(world, "job0"), {"metadata", "name"}));
  CHECK(message_of(world, "job1", "QuotaReserved").find("default/" + blocker) != std::string::npos);
  CHECK(bool_at(world.get(job_key("job1")), {"spec", "suspend"}));
  SUBCASE("ready") {
    world.nodes().release("job0-");
  }
  SUBCASE("deleted") {
    world.remove(job_key("job0"));
  }
  SUBCASE("late") {
    world.run_for(2min);
  }
  CHECK(world.run_until([&] { return world.pods_running("job1") == 2; }, 30s));
  CHECK(world.violations().empty());
}

TEST_CASE("pods ready: storms of faults lose no Workload that waits for another") {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    WorldOptions options = waiting(true, seed);
    options.replicas = 2;
    options.faults = Faults::storm();
    World world(options);
    submit(world, 20, 5, 2);
    INFO(world.report());
    world.run_for(2min);
    world.calm();
    CHECK(world.run_until([&] { return complete(world, 5) == 5; }, 60min));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

}  // namespace pods_ready_block_test
