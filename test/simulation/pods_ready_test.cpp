// waitForPodsReady in virtual time, over many orders of events: who is admitted while others
// are not ready, who is evicted and comes back, and when.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "simulation/world.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"

using namespace muster;
using namespace muster::simulation;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

void require_done(const Answer& answer) {
  INFO(answer.message);
  REQUIRE(answer.outcome == WriteOutcome::kDone);
}

// What the Workloads of a run went through, in order, by the name of their job.
struct History {
  std::vector<std::string> admitted;
  std::map<std::string, int> evicted;     // by "job reason"
  std::vector<std::string> beside_other;  // admitted while another one held quota and was not ready
  std::map<std::string, WorkloadPtr> now;
};

std::string job_of_workload(const Workload& workload) {
  return workload.meta.controller ? workload.meta.controller->name : workload.meta.name;
}

std::shared_ptr<History> watch(World& world) {
  auto history = std::make_shared<History>();
  world.api_server().on_change([history](const Change& change) {
    if (change.type->plural != kWorkloads.plural) return;
    const WorkloadPtr after = std::get<WorkloadPtr>(read_object(kWorkloads, *change.after));
    const std::string job = job_of_workload(*after);
    WorkloadPtr& known = history->now[job];
    const WorkloadPtr before = std::exchange(known, after);
    if (change.removed) return void(history->now.erase(job));
    if (after->evicted() && (before == nullptr || !before->evicted()))
      ++history->evicted[job + " " + find_condition(after->status.conditions, "Evicted")->reason];
    if (!after->has_quota_reserved() || (before != nullptr && before->has_quota_reserved())) return;
    history->admitted.push_back(job);
    for (const auto& [name, other] : history->now) {
      if (name != job && other->has_quota_reserved() && !other->finished() && !other->is_true("PodsReady"))
        history->beside_other.push_back(job + " beside " + name);
    }
  });
  return history;
}

WorldOptions waiting(bool block, uint64_t seed = 1) {
  WaitForPodsReady wait;
  wait.timeout = 2min;
  wait.recovery_timeout = 1min;
  wait.block_admission = block;
  WorldOptions options{.seed = seed};
  options.queues.wait_for_pods_ready = wait;
  return options;
}

void submit(World& world, int cpus, int jobs, int pods) {
  for (const json& object : queues(cpus)) require_done(world.create(object));
  for (int i = 0; i < jobs; ++i) require_done(world.create(queued_job(pods, "job" + std::to_string(i))));
}

// job0, which was first, and a moment later job1.
void submit_two(World& world, int cpus) {
  submit(world, cpus, 1, 2);
  world.run_for(2s);
  require_done(world.create(queued_job(2, "job1")));
}

int complete(World& world, int jobs) {
  int found = 0;
  for (int i = 0; i < jobs; ++i) found += world.condition_true(job_key("job" + std::to_string(i)), "Complete");
  return found;
}

// Two flavors before the queue `team`: a cpu of the first, and so much of the second.
std::vector<json> two_flavors(const std::string& of_second = "1") {
  std::vector<json> objects = queues(1);
  objects.insert(objects.begin() + 1, objects[0]);
  objects[1]["metadata"]["name"] = "second";
  json& flavors = objects[2]["spec"]["resourceGroups"][0]["flavors"];
  flavors.push_back(flavors[0]);
  flavors[1]["name"] = "second";
  flavors[1]["resources"][0]["nominalQuota"] = of_second;
  return objects;
}

// Of a job's Workload; null when there is none.
json workload_of(World& world, const std::string& job) {
  for (json& workload : world.list(kWorkloads)) {
    for (const json& owner : array_at(workload, {"metadata", "ownerReferences"})) {
      if (owner["name"] == job) return workload;
    }
  }
  return nullptr;
}

// "False WaitingForPodsReady".
std::string condition_of(World& world, const std::string& job, const std::string& type) {
  const json workload = workload_of(world, job);
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    if (condition["type"] == type)
      return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>();
  }
  return "";
}

// Of the cpus of a job's Workload; empty while it has no quota.
std::string flavor_of(World& world, const std::string& job) {
  const json workload = workload_of(world, job);
  const json& pod_sets = array_at(workload, {"status", "admission", "podSetAssignments"});
  return pod_sets.empty() ? "" : std::string(string_at(pod_sets[0], {"flavors", "cpu"}));
}

std::string message_of(World& world, const std::string& job, const std::string& type) {
  const json workload = workload_of(world, job);
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    if (condition["type"] == type) return condition["message"];
  }
  return "";
}

}  // namespace

TEST_CASE("pods ready: with blockAdmission one Workload is admitted at a time whatever the order of events") {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
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
  for (uint64_t seed = 1; seed <= 10; ++seed) {
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

TEST_CASE("pods ready: a Workload that is late is evicted and others run before it comes back") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
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
  for (uint64_t seed = 1; seed <= 10; ++seed) {
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
      // So that nobody else tries the second one meanwhile.
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
  for (uint64_t seed = 1; seed <= 10; ++seed) {
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
  for (uint64_t seed = 1; seed <= 10; ++seed) {
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
