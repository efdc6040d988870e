// waitForPodsReady in virtual time, over many orders of events: who is evicted because its pods
// are late, who comes back, and when.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "test/simulation/pods_ready_world.h"
#include "test/support/soak.h"

namespace pods_ready_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

TEST_CASE("pods ready: a Workload that is late is evicted and others run before it comes back") {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    World world(waiting(true, seed));
    const auto history = watch(world);
    world.nodes().hold("job0-");
    submit_two(world, 2);
    INFO(world.report());
    REQUIRE(world.run_until([&] { return history->evicted["job0 PodsReadyTimeout"] == 1; }, 3min));
    const Duration evicted = world.elapsed();
    CHECK(world.run_until([&] { return world.pods_running("job1") == 2; }, 20s));
    const json state = workload_of(world, "job0")["status"]["requeueState"];
    CHECK(state["count"] == 1);
    CHECK(state.contains("requeueAt"));
    CHECK(condition_of(world, "job0", "Requeued") == "False PodsReadyTimeout");
    world.nodes().release("job0-");
    REQUIRE(world.run_until([&] { return world.pods_running("job0") == 2; }, 10min));
    CHECK(world.elapsed() - evicted >= 60s);
    CHECK(world.run_until([&] { return complete(world, 2) == 2; }, 10min));
    CHECK(history->evicted == std::map<std::string, int>{{"job0 PodsReadyTimeout", 1}});
    CHECK(world.settle());
  }
}

// KEP-1282, story 1: while the Workload that got the second flavor waits for its next try, the
// first one becomes free.
TEST_CASE("pods ready: a late Workload comes back on the flavor that is free behind or before who waited") {
  using Timestamp = RequeuingStrategy::Timestamp;
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    for (const Timestamp timestamp : {Timestamp::kEviction, Timestamp::kCreation}) {
      WorldOptions options = waiting(false, seed);
      options.queues.wait_for_pods_ready->requeuing.timestamp = timestamp;
      World world(options);
      const auto history = watch(world);
      for (const json& object : two_flavors()) require_done(world.create(object));
      json first = queued_job(1, "job0");
      first["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, "300"}};
      require_done(world.create(first));
      INFO(world.report());
      REQUIRE(world.run_until([&] { return flavor_of(world, "job0") == "default"; }, 10s));
      world.nodes().hold("job1-");
      require_done(world.create(queued_job(1, "job1")));
      REQUIRE(world.run_until([&] { return flavor_of(world, "job1") == "second"; }, 10s));
      // So that no other Workload tries the second flavor during that time.
      require_done(world.patch({&kClusterQueues, "", "cluster"}, {{"spec", two_flavors("0")[2]["spec"]}}));
      world.run_for(2s);
      require_done(world.create(queued_job(1, "job2")));
      REQUIRE(world.run_until([&] { return history->evicted["job1 PodsReadyTimeout"] == 1; }, 3min));
      world.nodes().release("job1-");
      CHECK(world.run_until([&] { return complete(world, 3) == 3; }, 15min));
      const bool behind = timestamp == Timestamp::kEviction;
      CHECK(history->admitted ==
            std::vector<std::string>{"job0", "job1", behind ? "job2" : "job1", behind ? "job1" : "job2"});
      CHECK(history->evicted == std::map<std::string, int>{{"job1 PodsReadyTimeout", 1}});
      CHECK(flavor_of(world, "job1") == "default");
      CHECK(world.settle());
      CHECK(world.violations().empty());
    }
  }
}

// KEP-1282: with the timestamp Creation the preempted Workload is first among its equals.
TEST_CASE("pods ready: a preempted Workload does not come back before its preemptor") {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    for (const bool block : {true, false}) {
      WorldOptions options = waiting(block, seed);
      options.queues.wait_for_pods_ready->requeuing.timestamp = RequeuingStrategy::Timestamp::kCreation;
      World world(options);
      const auto history = watch(world);
      std::vector<json> objects = queues(2);
      objects[1]["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
      objects.push_back(two_teams(2).back());  // the class `high`
      for (const json& object : objects) require_done(world.create(object));
      require_done(world.create(queued_job(2, "job0")));
      INFO(world.report());
      REQUIRE(world.run_until([&] { return world.pods_running("job0") == 2; }, 30s));
      json preemptor = queued_job(2, "job1");
      preemptor["metadata"]["labels"][kPriorityClassLabel] = "high";
      require_done(world.create(preemptor));
      CHECK(world.run_until([&] { return complete(world, 2) == 2; }, 15min));
      CHECK(history->admitted == std::vector<std::string>{"job0", "job1", "job0"});
      CHECK(history->evicted == std::map<std::string, int>{{"job0 Preempted", 1}});
      CHECK(world.settle());
      CHECK(world.violations().empty());
    }
  }
}

TEST_CASE("pods ready: a lost pod costs the place only when it is not replaced in time") {
  for (const bool in_time : {true, false}) {
    World world(waiting(false));
    const auto history = watch(world);
    submit(world, 2, 1, 2);
    INFO(world.report());
    REQUIRE(world.run_until([&] { return condition_of(world, "job0", "PodsReady") == "True Started"; }, 1min));
    world.nodes().hold("job0-1-");
    for (const json& pod : world.list(kPods)) {
      if (std::string name = pod["metadata"]["name"]; name.starts_with("job0-1-"))
        REQUIRE(world.nodes().end_main({&kPods, "default", name}, 1));
    }
    REQUIRE(world.run_until([&] { return condition_of(world, "job0", "PodsReady") == "False WaitForRecovery"; }, 30s));
    world.run_for(in_time ? 20s : 70s);
    world.nodes().release("job0-1-");
    CHECK(history->evicted.count("job0 PodsReadyTimeout") == (in_time ? 0 : 1));
    if (in_time)
      CHECK(world.run_until([&] { return condition_of(world, "job0", "PodsReady") == "True Recovered"; }, 30s));
    CHECK(world.run_until([&] { return complete(world, 1) == 1; }, 30min));
    CHECK(world.violations().empty());
  }
}

TEST_CASE("pods ready: past the limit of tries a Workload is deactivated and a person brings it back") {
  WorldOptions options = waiting(false);
  options.queues.wait_for_pods_ready->requeuing.backoff_limit_count = 1;
  World world(options);
  const auto history = watch(world);
  world.nodes().hold("job0-");
  submit(world, 2, 1, 2);
  INFO(world.report());
  REQUIRE(world.run_until([&] { return workload_of(world, "job0").is_object(); }, 5s));
  const auto active = [&] { return workload_of(world, "job0")["spec"].value("active", true); };
  REQUIRE(world.run_until([&] { return !active(); }, 15min));
  REQUIRE(world.run_until(
      [&] { return condition_of(world, "job0", "Evicted") == "True DeactivatedDueToRequeuingLimitExceeded"; }, 10s));
  CHECK(history->evicted["job0 PodsReadyTimeout"] == 1);
  world.run_for(1h);
  CHECK(workload_of(world, "job0")["status"]["requeueState"]["count"] == 1);
  CHECK(bool_at(world.get(job_key("job0")), {"spec", "suspend"}));

  world.nodes().release("job0-");
  const std::string name = workload_of(world, "job0")["metadata"]["name"];
  require_done(world.patch({&kWorkloads, "default", name}, {{"spec", {{"active", true}}}}));
  CHECK(world.run_until([&] { return complete(world, 1) == 1; }, 10min));
  CHECK_FALSE(workload_of(world, "job0")["status"].contains("requeueState"));
  CHECK(world.settle());
}

TEST_CASE("pods ready: timeouts count on through restarts and clocks that jump") {
  for (const Duration jump : {Duration(0), Duration(1h), Duration(-1h)}) {
    World world(waiting(false));
    const auto history = watch(world);
    world.nodes().hold("job0-");
    submit(world, 2, 1, 2);
    INFO(world.report());
    REQUIRE(world.run_until([&] { return condition_of(world, "job0", "Admitted") == "True Admitted"; }, 30s));
    const Duration admitted = world.elapsed();
    world.run_for(30s);
    if (jump == Duration(0)) {
      world.kill(0, 10s);
    } else {
      world.jump_wall_clock(jump);
      // Something that makes muster look at the Workload.
      const std::string name = workload_of(world, "job0")["metadata"]["name"];
      require_done(world.patch({&kWorkloads, "default", name}, {{"metadata", {{"labels", {{"a", "b"}}}}}}));
    }
    REQUIRE(world.run_until([&] { return history->evicted["job0 PodsReadyTimeout"] == 1; }, 10min));
    CHECK(world.elapsed() - admitted >= 119s);
    CHECK(world.elapsed() - admitted <= 125s);
  }
}

// KEP-349, story 1: each of two gangs has half of the places that both need.
TEST_CASE("pods ready: two Jobs that need all of their pods deadlock without muster's queue and finish with it") {
  const auto gang = [](const char* name, bool queued) {
    json job = queued ? queued_job(4, name) : job_of(4, name);
    job["metadata"]["annotations"] = {{"muster.batch/group-scheduling-timeout-seconds", "100000"}};
    return job;
  };
  int deadlocks = 0;
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    for (const bool queued : {false, true}) {
      WorldOptions options = waiting(true, seed);
      options.nodes = {.nodes = 1, .pods_per_node = 6};
      World world(options);
      for (const json& object : queues(8)) require_done(world.create(object));
      for (const char* name : {"job0", "job1"}) require_done(world.create(gang(name, queued)));
      INFO(world.report());
      const bool finished = world.run_until([&] { return complete(world, 2) == 2; }, 30min);
      if (queued) CHECK(finished);
      if (queued) continue;
      deadlocks += !finished;
      if (!finished) CHECK(world.pods_running("job") == 0);
    }
  }
  CHECK(deadlocks > 0);
}

TEST_CASE("pods ready: five hundred that are late together are evicted once each and do not come back as one") {
  constexpr int kJobs500 = 500;
  WorldOptions options = waiting(false);
  options.nodes = {.nodes = 1, .pods_per_node = 0};
  World world(options);
  const auto history = watch(world);
  submit(world, kJobs500, kJobs500, 1);
  const auto evicted = [&] {
    int count = 0;
    for (const auto& [what, times] : history->evicted) count += times;
    return count;
  };
  REQUIRE(world.run_until([&] { return static_cast<int>(history->admitted.size()) == kJobs500; }, 1min));
  const Duration admitted = world.elapsed();
  REQUIRE(world.run_until([&] { return evicted() == kJobs500; }, 4min));
  CHECK(history->evicted.size() == kJobs500);
  CHECK(world.elapsed() - admitted <= 2min + 30s);
  std::map<std::string, int> back;  // by requeueAt
  for (const json& workload : world.list(kWorkloads)) ++back[workload["status"]["requeueState"].value("requeueAt", "")];
  CHECK(back.count("") == 0);
  CHECK(back.size() >= 5);
  for (const auto& entry : back) CHECK_MESSAGE(entry.second <= kJobs500 / 3, entry.first);
  // Each of them has its second try.
  REQUIRE(world.run_until([&] { return static_cast<int>(history->admitted.size()) == 2 * kJobs500; }, 2min));
  CHECK(std::set<std::string>(history->admitted.begin() + kJobs500, history->admitted.end()).size() == kJobs500);
  CHECK(evicted() == kJobs500);
  CHECK(world.violations().empty());
}

}  // namespace pods_ready_test
