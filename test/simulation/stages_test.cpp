// JobSets whose replicated jobs start one after another: what cannot start yet is not late.
#include "test/simulation/flavors/world.h"
#include "test/simulation/pods_ready_world.h"

namespace stages_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

json replicated(const char* name, const char* run_seconds) {
  json spec = queued_job(1, name)["spec"];
  spec.erase("suspend");
  spec["template"]["metadata"]["annotations"] = {{kRunSeconds, run_seconds}};
  return {{"name", name}, {"replicas", 1}, {"template", {{"spec", spec}}}};
}

// `first` runs for 10 minutes; then `second` starts.
json staged() {
  json second = replicated("second", "60");
  second["dependsOn"] = json::array({{{"name", "first"}, {"status", "Complete"}}});
  return {{"apiVersion", kJobSets.api_version},
          {"kind", kJobSets.kind},
          {"metadata", {{"name", "set"}, {"namespace", "default"}, {"labels", {{kQueueNameLabel, "team"}}}}},
          {"spec", {{"replicatedJobs", {replicated("first", "600"), second}}}}};
}

bool complete(World& world) {
  return world.condition_true({&kJobSets, "default", "set"}, "Completed");
}

}  // namespace

TEST_CASE("stages: a JobSet is not evicted while its first part runs, longer than the timeout") {
  World world(waiting(true));
  const auto history = watch(world);
  for (const json& object : queues(2)) require_done(world.create(object));
  require_done(world.create(staged()));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return condition_of(world, "set", "PodsReady") == "True StartedInPart"; }, 2min));
  // A waiting part blocks no other part.
  require_done(world.create(queued_job(1, "job0")));
  CHECK_FALSE(world.run_until([&] { return !history->evicted.empty(); }, 9min));
  CHECK(world.run_until([&] { return condition_of(world, "set", "PodsReady") == "False WaitForNextPart"; }, 3min));
  CHECK(world.run_until([&] { return condition_of(world, "set", "PodsReady") == "True Started"; }, 2min));
  CHECK(world.run_until([&] { return complete(world); }, 5min));
  CHECK(history->evicted.empty());
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("stages: a part that cannot start in its own time leaves the flavor, and the part before it stays done") {
  FlavorWorld world(three_flavors(rules_of({{"spot", 5}}), "DeactivateWorkload", 0));
  require_done(world.create(staged()));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.runs_on("set-first-0", "spot"); }, 2min));
  world.run_for(1min);
  world.sold_out({"spot"});
  CHECK(world.run_until([&] { return world.runs_on("set-second-0", "on-demand"); }, 40min));
  CHECK(world.run_until([&] { return complete(world); }, 5min));
  CHECK(world.evictions("set") == 1);
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

}  // namespace stages_test
