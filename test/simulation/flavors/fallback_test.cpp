// Flavor fallback (KEP-2560) in virtual time: the stories of the KEP and its interleavings. No node of a flavor that is
// sold out takes a pod.
#include "test/simulation/flavors/world.h"
#include "test/support/soak.h"

namespace flavor_fallback_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("flavor fallback: with the reservation full and spot sold out the job runs on demand") {
  for (uint64_t seed = 1; seed <= seeds(5); ++seed) {
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload"), {.seed = seed});
    world.sold_out({"spot"});
    world.submit("first", 7200);
    REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
    world.submit("late", 60);
    INFO(world.report());
    REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot"}; }, 1min));
    const Duration begun = world.elapsed();
    CHECK_FALSE(world.run_until([&] { return world.tried("late").size() > 1; }, 14min));
    REQUIRE(world.run_until([&] { return world.runs_on("late", "on-demand"); }, 2min));
    CHECK(world.elapsed() - begun < 16min);
    // Nothing of the first flavor is left in the template.
    CHECK(world.selector_of("late") == "on-demand");
    CHECK(world.run_until([&] { return world.complete("late"); }, 5min));
    CHECK(world.tried("late") == Names{"spot", "on-demand"});
    CHECK(world.evictions("late", "FlavorFallback") == 1);
    CHECK(world.read("late")->status.flavors.empty());
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

// The KEP's first test: flavor 1 is saturated, flavor 2 fails; then flavor 1 if it has capacity.
TEST_CASE("flavor fallback: after a failure an earlier flavor with room is tried before a later one") {
  for (const bool freed : {true, false}) {
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload"));
    world.sold_out({"spot"});
    world.submit("first", freed ? 600 : 7200);
    REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
    world.submit("late");
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("late"); }, 40min));
    CHECK(world.tried("late") == Names{"spot", freed ? "reservation" : "on-demand"});
    CHECK(world.settle());
  }
}

// The KEP's interleaving: A is full, B fails, A becomes free and fails too.
TEST_CASE("flavor fallback: a flavor that came free and fails as well is not tried again either") {
  FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload"));
  world.sold_out({"spot"});
  world.submit("first", 600);
  REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
  world.submit("late");
  world.run_for(1min);
  world.sold_out({"reservation"});
  INFO(world.report());
  CHECK(world.run_until([&] { return world.complete("late"); }, 60min));
  CHECK(world.tried("late") == Names{"spot", "reservation", "on-demand"});
  CHECK(world.settle());
}

TEST_CASE("flavor fallback: with DeactivateWorkload the Workload is deactivated when all flavors have failed") {
  const json rules = rules_of({{"reservation", 10}, {"spot", 15}, {"on-demand", 5}});
  FlavorWorld world(three_flavors(rules, "DeactivateWorkload"));
  world.sold_out({"reservation", "spot", "on-demand"});
  world.submit("late");
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.evictions("late", "DeactivatedDueToFlavorsExhausted") == 1; }, 60min));
  world.run_for(3h);
  CHECK(world.tried("late") == Names{"reservation", "spot", "on-demand"});
  CHECK_FALSE(world.read("late")->active);
  CHECK(bool_at(world.get(job_key("late")), {"spec", "suspend"}));
  CHECK(world.selector_of("late").empty());
  CHECK(world.has_event("FlavorsExhausted"));
  CHECK(world.settle());

  world.nodes().put_on_sale(kTier, "on-demand");
  const std::string name = world.read("late")->meta.name;
  require_done(world.patch({&kWorkloads, "default", name}, {{"spec", {{"active", true}}}}));
  CHECK(world.run_until([&] { return world.complete("late"); }, 60min));
  CHECK(world.tried("late") == Names{"reservation", "spot", "on-demand", "reservation", "spot", "on-demand"});
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("flavor fallback: with RetryAllFlavors the flavors are tried over and over with a growing backoff") {
  const json rules = rules_of({{"*", 5}});
  FlavorWorld world(three_flavors(rules, "RetryAllFlavors"));
  world.sold_out({"reservation", "spot", "on-demand"});
  world.submit("late");
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.tried("late").size() == 9; }, 3h));
  CHECK(world.read("late")->status.flavors.fallback->round == 3);
  // Three times 15 minutes less the last one, and backoffs of 1 and 2 minutes with their jitter.
  CHECK(world.elapsed() > 43min);
  CHECK(world.elapsed() < 46min);
  world.nodes().put_on_sale(kTier, "spot");
  CHECK(world.run_until([&] { return world.complete("late"); }, 3h));
  CHECK(world.tried("late").back() == "spot");
  CHECK(world.read("late")->active);
  CHECK(world.read("late")->status.flavors.empty());
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("flavor fallback: beside waitForPodsReady the flavor fails after the same time in all") {
  for (const Duration timeout : {Duration(4min), Duration(60min)}) {
    WorldOptions options;
    options.queues.wait_for_pods_ready = WaitForPodsReady{.timeout = timeout};
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload", 0), options);
    world.sold_out({"spot"});
    world.submit("late");
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("late"); }, 3h));
    CHECK(world.evictions("late", "FlavorFallback") == 1);
    CHECK(world.evictions("late", "PodsReadyTimeout") == (timeout == 4min ? 3 : 0));
    CHECK(world.tried("late").back() == "on-demand");
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("flavor fallback: after a preemption the flavor has the rest of its timeout") {
  std::vector<json> objects = three_flavors(rules_of({{"spot", 15}}), "DeactivateWorkload", 0, 1, 1);
  for (json& object : objects) {
    if (object["kind"] == kClusterQueues.kind) object["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
  }
  objects.push_back(two_teams(2).back());  // the class `high`
  const json high = {{"metadata", {{"labels", {{kPriorityClassLabel, "high"}}}}}};
  FlavorWorld world(objects);
  world.sold_out({"spot"});
  world.submit("late");
  REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot"}; }, 1min));
  world.submit("first", 7200, high);
  REQUIRE(world.run_until([&] { return world.runs_on("first", "on-demand"); }, 1min));
  world.run_for(5min);
  INFO(world.report());
  world.submit("urgent", 60, high);
  REQUIRE(world.run_until([&] { return world.evictions("late", "Preempted") == 1; }, 1min));
  const int used = world.read("late")->status.flavors.find("spot")->used_seconds;
  CHECK(used >= 300);
  world.run_for(10min);
  CHECK(world.tried("late") == Names{"spot"});
  world.remove(job_key("urgent"));
  REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot", "spot"}; }, 2min));
  const Duration again = world.elapsed();
  world.remove(job_key("first"));
  CHECK(world.run_until([&] { return world.runs_on("late", "on-demand"); }, 20min));
  CHECK(world.elapsed() - again >= 15min - std::chrono::seconds(used) - 2s);
  CHECK(world.elapsed() - again <= 15min - std::chrono::seconds(used) + 30s);
  CHECK(world.evictions("late", "FlavorFallback") == 1);
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("flavor fallback: a Job that can be smaller falls back to a flavor with room for the smaller size") {
  FlavorWorld world(three_flavors(rules_of({{"spot", 5}}), "DeactivateWorkload", 0, 4, 2));
  world.sold_out({"spot"});
  world.submit("late", 60,
               {{"metadata", {{"annotations", {{kMinParallelismAnnotation, "2"}}}}},
                {"spec", {{"parallelism", 4}, {"completions", 4}}}});
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.runs_on("late", "on-demand"); }, 10min));
  CHECK(world.tried("late") == Names{"spot", "on-demand"});
  CHECK(world.read("late")->status.admission->pod_sets.at(0).count == 2);
  CHECK(world.run_until([&] { return world.complete("late"); }, 10min));
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("flavor fallback: a gang leaves the flavor by whichever time is over first and by one eviction") {
  for (const int deadline : {300, 1800}) {
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload", 0));
    world.sold_out({"spot"});
    world.submit("late", 60,
                 {{"metadata",
                   {{"annotations", {{"muster.batch/group-scheduling-timeout-seconds", std::to_string(deadline)}}}}}});
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("late"); }, 6h));
    CHECK(world.evictions("late", "FlavorFallback") == 1);
    CHECK(world.evictions("late") == 1);
    CHECK(world.tried("late").back() == "on-demand");
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("flavor fallback: of two resource groups the one falls back that fails") {
  std::vector<json> objects = three_flavors(rules_of({{"spot", 5}}), "DeactivateWorkload", 0);
  for (json& object : objects) {
    if (object["kind"] == kClusterQueues.kind)
      object["spec"]["resourceGroups"].push_back(group_of("example.com/gpu", {{"fast", 1}, {"slow", 1}}));
    // The other group's flavors say nothing of the tier: their label has another key.
    if (object["kind"] == kResourceFlavors.kind && object["metadata"]["name"] == "fast")
      object["spec"]["nodeLabels"] = {{"card", "fast"}};
  }
  FlavorWorld world(objects);
  world.sold_out({"spot"});
  json container = queued_job(1, "late")["spec"]["template"]["spec"]["containers"][0];
  container["resources"] = {{"requests", {{"cpu", "1"}, {"example.com/gpu", "1"}}},
                            {"limits", {{"example.com/gpu", "1"}}}};
  world.submit("late", 60, {{"spec", {{"template", {{"spec", {{"containers", json::array({container})}}}}}}}});
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.runs_on("late", "on-demand"); }, 10min));
  const auto flavors = world.read("late")->status.admission->pod_sets.at(0).flavors;
  CHECK(flavors.at("cpu") == "on-demand");
  CHECK(flavors.at("example.com/gpu") == "fast");
  CHECK(world.settle());
}

TEST_CASE("flavor fallback: storms of faults lose no Workload and try no flavor again") {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    WorldOptions options{.seed = seed, .replicas = 2};
    options.faults = Faults::storm();
    FlavorWorld world(three_flavors(rules_of({{"*", 3}}), "RetryAllFlavors", 2, 3, 2), options);
    world.sold_out({"spot"});
    for (int i = 0; i < 5; ++i) world.submit("job" + std::to_string(i));
    INFO(world.report());
    world.run_for(20min);
    world.calm();
    CHECK(world.run_until(
        [&] {
          int done = 0;
          for (int i = 0; i < 5; ++i) done += world.complete("job" + std::to_string(i));
          return done == 5;
        },
        3h));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("flavor fallback: a wall clock that jumps makes no flavor fail before its time") {
  FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload", 0));
  world.sold_out({"spot"});
  world.submit("late");
  REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot"}; }, 1min));
  world.run_for(1min);
  const Duration begun = world.elapsed();
  world.jump_wall_clock(2h);
  INFO(world.report());
  CHECK_FALSE(world.run_until([&] { return world.tried("late").size() > 1; }, 13min));
  CHECK(world.run_until([&] { return world.complete("late"); }, 5min));
  CHECK(world.elapsed() - begun < 17min);
}

}  // namespace flavor_fallback_test
