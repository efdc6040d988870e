// Kinds that the API server serves no more, or for a while: nothing that runs is affected.
#include <doctest/doctest.h>

#include "kinds/watched_kinds.h"
#include "test/simulation/gangs.h"
#include "test/simulation/queues.h"

namespace absence_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;
using world::World;

namespace {

json long_job(const std::string& name) {
  json job = queued_job(2, name);
  job["spec"]["template"]["metadata"]["annotations"] = {{world::kRunSeconds, "1000000"}};
  return job;
}

// Two queued Jobs, a queued gang and a JobSet without a queue, all of them running: 14 pods.
void start_all(World& world) {
  for (const json& object : queues(8)) require_done(world.create(object));
  for (const char* name : {"train-a", "train-b"}) require_done(world.create(long_job(name)));
  json gang = gang_jobset();
  gang["metadata"]["labels"] = {{kQueueNameLabel, "team"}};
  gang["metadata"]["name"] = "train-g";
  gang["spec"]["replicatedJobs"][0]["replicas"] = 2;
  gang["spec"]["replicatedJobs"].erase(1);
  require_done(world.create(gang));
  require_done(world.create(gang_jobset()));
  REQUIRE_MESSAGE(runs(world, 11), world.report());
}

// The fewest that ran at any moment.
int fewest_running(World& world, Duration time) {
  int fewest = world.pods_running("train");
  const Duration end = world.elapsed() + time;
  world.run_until(
      [&] {
        fewest = std::min(fewest, world.pods_running("train"));
        return world.elapsed() >= end;
      },
      time + 1s);
  return fewest;
}

}  // namespace

TEST_CASE("simulation: a kind that is not served for a while stops nothing") {
  for (const WatchedKind& kind : watched_kinds()) {
    // No watch of it is here.
    if (!kind.framework.empty() && !kind.optional) continue;
    for (const Duration absence : {Duration(2s), Duration(90s)}) {
      const std::string plural(kind.type->plural);
      CAPTURE(plural);
      CAPTURE(absence.count());
      World world({});
      start_all(world);
      world.run_for(1min);
      const int writes = world.writes().all();
      world.process(0).hide(*kind.type, true);
      CHECK(fewest_running(world, absence) == 11);
      if (absence > 30s) {
        // Some kinds have no objects here; those that have are missed.
        const bool optional = kind.optional && world.list(*kind.type).empty();
        CHECK(world.process(0).engine()->kinds().missing().empty() == optional);
      }
      world.process(0).hide(*kind.type, false);
      CHECK(fewest_running(world, 2min) == 11);
      CHECK(world.process(0).engine()->kinds().missing().empty());
      CHECK(world.writes().all() - writes <= 20);
      INFO(world.report());
      CHECK(world.violations().empty());
    }
  }
}

TEST_CASE("simulation: a muster that starts while a kind is not served stops nothing") {
  for (const WatchedKind& kind : watched_kinds()) {
    if (!kind.framework.empty() && !kind.optional) continue;
    const std::string plural(kind.type->plural);
    CAPTURE(plural);
    World world({});
    start_all(world);
    world.kill(0);
    world.process(0).hide(*kind.type, true);
    world.restart(0);
    CHECK(fewest_running(world, 2min) == 11);
    CHECK(world.process(0).synced() == kind.optional);
    world.process(0).hide(*kind.type, false);
    CHECK(fewest_running(world, 2min) == 11);
    CHECK(world.process(0).synced());
    // What was held up goes on.
    require_done(world.create(long_job("late")));
    CHECK(world.run_until([&] { return world.pods_running("late") == 2; }, 2min));
    INFO(world.report());
    CHECK(world.violations().empty());
  }
}

}  // namespace absence_test
