// Two teams that borrow from each other, preempt and give back, in virtual time, under the
// real engine and scheduler. What is reserved is checked at every step by the invariants.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace teams_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr int kCpus = 3;  // of each team

struct Teams {
  explicit Teams(WorldOptions options) : world(std::move(options)) {
    for (const json& object : two_teams(kCpus)) require_done(world.create(object));
  }

  void submit(const std::string& team, int pods, const std::string& priority) {
    json job = queued_job(pods, team + std::to_string(count++));
    job["metadata"]["labels"] = {{kQueueNameLabel, team}, {kPriorityClassLabel, priority}};
    Answer answer = world.create(job);
    // While no replica serves the webhooks nothing passes, and users try again.
    for (int tries = 0; tries < 300 && answer.outcome != reconcilers::WriteOutcome::kDone; ++tries) {
      world.run_for(1s);
      answer = world.create(job);
    }
    require_done(answer);
  }
  // Twelve Jobs of all sorts, over a while that the seed decides.
  void submit_all(uint64_t seed) {
    for (int i = 0; i < 12; ++i) {
      submit((seed >> i & 1) != 0 ? "red" : "blue", 1 + i % 3, (i + seed) % 3 == 0 ? "high" : "low");
      world.run_for(std::chrono::seconds((seed * 7 + i * i) % 40));
    }
  }
  int complete() {
    int found = 0;
    for (const json& job : world.list(kJobs))
      found += condition_is_true(read_conditions(array_at(job, {"status", "conditions"})), "Complete") ? 1 : 0;
    return found;
  }
  bool all_complete(Duration limit) {
    return world.run_until([&] { return complete() == count; }, limit);
  }
  int with(std::string_view condition, std::string_view reason) {
    int found = 0;
    for (const json& workload : world.list(kWorkloads)) {
      for (const Condition& each : read_conditions(array_at(workload, {"status", "conditions"})))
        found += each.type == condition && each.status == "True" && each.reason == reason ? 1 : 0;
    }
    return found;
  }

  World world;
  int count = 0;
};

}  // namespace

TEST_CASE("teams: who borrows gives back when the owner comes and all end") {
  Teams teams({});
  for (int i = 0; i < 2 * kCpus; ++i) teams.submit("red", 1, "low");
  INFO(teams.world.report());
  REQUIRE(teams.world.run_until([&] { return teams.world.pods_running("red") == 2 * kCpus; }, 30s));
  teams.submit("blue", kCpus, "low");
  REQUIRE(teams.world.run_until([&] { return teams.world.pods_running("blue") == kCpus; }, 30s));
  CHECK(teams.world.pods_running("red") == kCpus);
  CHECK(teams.with("Preempted", "InCohortReclamation") == kCpus);
  CHECK(teams.all_complete(10min));
  CHECK(teams.world.settle());
}

TEST_CASE("teams: a higher priority preempts in its own queue and not what the other team owns") {
  Teams teams({});
  teams.submit("red", kCpus, "low");
  teams.submit("blue", kCpus, "low");
  REQUIRE(teams.world.run_until([&] { return teams.world.pods_running("") == 2 * kCpus; }, 30s));
  teams.submit("red", kCpus, "high");
  INFO(teams.world.report());
  REQUIRE(teams.world.run_until([&] { return teams.world.pods_running("red2") == kCpus; }, 30s));
  CHECK(teams.world.pods_running("red0") == 0);
  CHECK(teams.world.pods_running("blue1") == kCpus);
  CHECK(teams.with("Preempted", "InClusterQueue") == 1);
  CHECK(teams.all_complete(10min));
  CHECK(teams.world.settle());
}

TEST_CASE("teams: storms of faults lose no Job and never go above the quota of both") {
  for (uint64_t seed = 1; seed <= seeds(15); ++seed) {
    Teams teams({.seed = seed, .replicas = 2, .faults = Faults::storm()});
    teams.submit_all(seed);
    teams.all_complete(std::chrono::seconds(10 * seed));
    teams.world.calm();
    const bool done = teams.all_complete(3h);
    INFO(teams.world.report());
    CHECK(done);
    CHECK(teams.world.settle());
    CHECK(teams.world.violations().empty());
  }
}

TEST_CASE("teams: a quota that is lowered under load is kept as soon as it is known") {
  for (uint64_t seed = 1; seed <= seeds(5); ++seed) {
    Teams teams({.seed = seed, .replicas = 2});
    for (int i = 0; i < 6; ++i) teams.submit(i % 2 == 0 ? "red" : "blue", 2, "low");
    REQUIRE(teams.world.run_until([&] { return teams.world.pods_running("") == 2 * kCpus; }, 1min));
    for (const char* team : {"red", "blue"}) {
      json groups = teams.world.get({&kClusterQueues, "", team})["spec"]["resourceGroups"];
      groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = "1";
      require_done(teams.world.patch({&kClusterQueues, "", team}, {{"spec", {{"resourceGroups", groups}}}}));
    }
    INFO(teams.world.report());
    teams.world.run_for(std::chrono::seconds(3 * 60));
    CHECK(teams.world.pods_running("") <= 2);
    CHECK(teams.all_complete(1h));
    CHECK(teams.world.settle());
  }
}

}  // namespace teams_test
