// The harness itself, and a plain gang on it: what runs, what fails, and what the
// invariants notice.
#include "test/world/world.h"

#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "test/simulation/manifests.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"

namespace world_test {

using namespace muster;
using namespace muster::world;
using muster::test::gang_of;
using muster::test::job_key;
using muster::test::job_of;
using nlohmann::json;
using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("world: a plain Job runs to its end without a write of muster") {
  World world({});
  require_done(world.create(job_of(3)));
  CHECK(world.run_until([&] { return world.pods_running("train") == 3; }, minutes(1)));
  CHECK(world.run_until([&] { return world.condition_true(job_key(), "Complete"); }, minutes(5)));
  CHECK(world.writes().all() == 0);
  CHECK(world.settle());
}

TEST_CASE("world: a gang starts together once its last pod is there") {
  World world({});
  world.nodes().hold("train-2-");
  require_done(world.create(gang_of(3)));
  CHECK(world.run_until([&] { return world.pods_waiting("train") == 2; }, minutes(1)));
  world.run_for(minutes(2));
  CHECK(world.pods_running("train") == 0);
  world.nodes().release("train-2-");
  INFO(world.report());
  CHECK(world.run_until([&] { return world.pods_running("train") == 3; }, seconds(10)));
  CHECK(world.run_until([&] { return world.condition_true(job_key(), "Complete"); }, minutes(5)));
  CHECK(world.settle());
}

TEST_CASE("world: the same seed gives the same run and another seed another one") {
  auto run = [](uint64_t seed) {
    World world({.seed = seed, .replicas = 2, .faults = Faults::storm()});
    world.create(gang_of(4));
    world.run_for(minutes(5));
    return world.report() + to_text(world.get(job_key()));
  };
  const std::string first = run(3);
  CHECK(first == run(3));
  CHECK(first != run(4));
}

TEST_CASE("world: a gang whose last pod never comes ends at its deadline and says who was missing") {
  World world({});
  world.nodes().hold("train-1-");
  require_done(world.create(gang_of(3, 120)));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.condition_true(job_key(), "Failed"); }, minutes(10)));
  CHECK(world.elapsed() >= seconds(120));
  CHECK(world.elapsed() <= seconds(140));
  const json conditions = array_at(world.get(job_key()), {"status", "conditions"});
  const std::string text = conditions.dump();
  CHECK(text.find("GroupSchedulingTimeout") != std::string::npos);
  CHECK(text.find("train-1") != std::string::npos);
  CHECK(world.pods_running("train") == 0);
  CHECK(world.settle());
}

TEST_CASE("world: a deleted gang leaves nothing behind") {
  World world({});
  world.nodes().hold("train-0-");
  require_done(world.create(gang_of(3)));
  REQUIRE(world.run_until([&] { return world.pods_waiting("train") == 2; }, minutes(1)));
  require_done(world.remove(job_key()));
  INFO(world.report());
  CHECK(world.settle());
  CHECK(world.list(kPods).empty());
  CHECK(world.list(kConfigMaps).empty());
}

TEST_CASE("world: muster is killed after each of its writes in turn and the gang still starts together") {
  bool killed = true;
  int writes = 0;
  for (int n = 1; killed && n < 60; ++n) {
    World world({.seed = static_cast<uint64_t>(n)});
    world.kill_after_write(n);
    require_done(world.create(gang_of(3)));
    const std::string why = std::to_string(n) + "th write\n" + world.report();
    INFO(why);
    CHECK(world.run_until([&] { return world.condition_true(job_key(), "Complete"); }, minutes(10)));
    CHECK(world.settle());
    killed = world.process(0).starts() > 1;
    writes = n;
  }
  // It stops by itself once there is no n-th write any more.
  CHECK(writes >= 5);
  CHECK(writes < 60);
}

TEST_CASE("world: a leader that is cut off gives up and the next one goes on") {
  World world({.replicas = 2});
  const int first = world.leader();
  world.nodes().hold("train-2-");
  require_done(world.create(gang_of(3)));
  REQUIRE(world.run_until([&] { return world.pods_waiting("train") == 2; }, minutes(1)));
  world.cut_off(first, minutes(2));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.leader() == -1; }, seconds(15)));
  REQUIRE(world.run_until([&] { return world.leader() == 1 - first; }, seconds(15)));
  world.nodes().release("train-2-");
  CHECK(world.run_until([&] { return world.pods_running("train") == 3; }, seconds(20)));
  CHECK(world.settle());
}

TEST_CASE("world: a killed leader keeps the lease until it has run out and an elected one waits for nobody") {
  World world({.replicas = 2});
  const int first = world.leader();
  const Duration begin = world.elapsed();
  world.kill(first);
  CHECK(world.leader() == -1);
  REQUIRE(world.run_until([&] { return world.leader() == 1 - first; }, minutes(1)));
  CHECK(world.elapsed() - begin >= seconds(10));
  CHECK(world.elapsed() - begin <= seconds(20));
  world.restart(first);
  world.elect(first);
  CHECK(world.run_until([&] { return world.leader() == first; }, seconds(5)));
  world.elect(-1);
  world.run_for(minutes(1));
  CHECK(world.leader() == -1);
}

TEST_CASE("world: while no replica of muster answers no job is let in") {
  World world({});
  world.kill(0);
  CHECK(world.create(gang_of(2)).outcome == reconcilers::WriteOutcome::kFailed);
  world.restart(0);
  CHECK(world.run_until([&] { return world.create(gang_of(2)).done(); }, seconds(5)));
}

TEST_CASE("world: an event that muster missed comes with the resumed watch or with a new list") {
  for (const bool compacted : {false, true}) {
    World world({});
    world.nodes().hold("train-1-");
    require_done(world.create(gang_of(2)));
    REQUIRE(world.run_until([&] { return world.pods_waiting("train") == 1; }, minutes(1)));
    world.cut_off(0, seconds(5));
    world.nodes().release("train-1-");
    world.run_for(seconds(4));
    if (compacted) world.api_server().compact();
    CHECK(world.run_until([&] { return world.pods_running("train") == 2; }, seconds(20)));
    CHECK(world.violations().empty());
  }
}

TEST_CASE("world: a jump of the wall clock moves a deadline but neither opens nor doubles a barrier") {
  for (const Duration jump : {Duration(minutes(10)), -Duration(minutes(10))}) {
    World world({});
    world.nodes().hold("train-1-");
    require_done(world.create(gang_of(2, 120)));
    REQUIRE(world.run_until([&] { return world.pods_waiting("train") == 1; }, minutes(1)));
    world.run_for(seconds(10));
    world.jump_wall_clock(jump);
    world.lose_watches(0);
    // Forwards the deadline has passed; backwards it is that much further away.
    CHECK(world.run_until([&] { return world.condition_true(job_key(), "Failed"); }, minutes(30)));
    CHECK(world.settle());
  }
}

TEST_CASE("world: whatever fails by chance a gang starts together or ends with a reason") {
  int started = 0, expired = 0;
  for (uint64_t seed = 1; seed <= test::seeds(200); ++seed) {
    World world({.seed = seed, .replicas = 1 + static_cast<int>(seed % 3), .faults = Faults::storm()});
    // Some seeds hold a pod back for a while, or longer than the gang waits.
    world.nodes().hold("train-1-", seed % 2 == 0 ? HoldAt::kScheduling : HoldAt::kImagePull);
    world.at(world.elapsed() + seconds(5 * (seed % 40)), [&world] { world.nodes().release("train-1-"); });
    world.run_until([&] { return world.create(gang_of(4, 120)).done(); }, minutes(5));
    world.run_for(minutes(4));
    world.calm();
    world.run_until(
        [&] { return world.condition_true(job_key(), "Complete") || world.condition_true(job_key(), "Failed"); },
        minutes(30));
    const std::string report = world.report();
    INFO(report);
    const bool complete = world.condition_true(job_key(), "Complete");
    const bool failed = world.condition_true(job_key(), "Failed");
    CHECK(complete != failed);
    started += complete;
    expired += failed;
    CHECK(world.settle());
    require_done(world.remove(job_key()));
    world.settle();
    const std::string violated = world.report();
    INFO(violated);
    CHECK(world.violations().empty());
    CHECK(world.list(kPods).empty());
    CHECK(world.list(kConfigMaps).empty());
  }
  CHECK(started > static_cast<int>(test::seeds(50)));
  // Of an eighth of the seeds one is enough.
  CHECK(expired > (test::kSanitized ? 0 : 10));
}

}  // namespace world_test
