// What is changed after an admission takes effect: priorities, classes of them, how long a job
// can run, and what a Workload that comes back says.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/world/world.h"

namespace changes_after_admission_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const ObjectKey kQueue{&kClusterQueues, "", "cluster"};

json priority_class(const std::string& name, int value) {
  return {{"apiVersion", kWorkloadPriorityClasses.api_version},
          {"kind", kWorkloadPriorityClasses.kind},
          {"metadata", {{"name", name}}},
          {"value", value}};
}
ObjectKey class_key(const std::string& name) {
  return {&kWorkloadPriorityClasses, "", name};
}

json long_job(const std::string& name, const char* of_class = nullptr) {
  json job = queued_job(2, name);
  job["spec"]["template"]["metadata"]["annotations"] = {{"simulation.muster.batch/run-seconds", "1000000"}};
  if (of_class != nullptr) job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = of_class;
  return job;
}

// A queue of two cpus in which the higher priority evicts the lower one.
void make_queues(World& world) {
  for (json object : queues(2)) {
    if (object["kind"] == "ClusterQueue") object["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
    require_done(world.create(object));
  }
}

json workload_of(World& world, const std::string& job) {
  for (json& workload : world.list(kWorkloads)) {
    const json& owners = array_at(workload, {"metadata", "ownerReferences"});
    if (!owners.empty() && owners[0]["name"] == job) return workload;
  }
  return json();
}
ObjectKey workload_key(World& world, const std::string& job) {
  return {&kWorkloads, "default", workload_of(world, job)["metadata"]["name"]};
}

bool runs(World& world, const std::string& job) {
  return world.pods_running(job) == 2;
}

std::string condition_of(const json& workload, std::string_view type) {
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) == type)
      return std::string(string_at(condition, {"status"})) + " " + std::string(string_at(condition, {"reason"})) +
             ": " + std::string(string_at(condition, {"message"}));
  }
  return "";
}

// `running` and, behind it, `waiting` of the same priority.
void run_and_wait(World& world, const char* running_class, const char* waiting_class) {
  make_queues(world);
  require_done(world.create(priority_class("high", 1000)));
  require_done(world.create(priority_class("low", 10)));
  require_done(world.create(priority_class("mine", 1000)));
  require_done(world.create(long_job("running", running_class)));
  REQUIRE(world.run_until([&] { return runs(world, "running"); }, 1min));
  require_done(world.create(long_job("waiting", waiting_class)));
  world.run_for(1min);
  REQUIRE(runs(world, "running"));
  REQUIRE(workload_of(world, "waiting")["spec"]["priority"] == 1000);
}

int64_t accumulated(World& world, const std::string& job) {
  return int_at(workload_of(world, job), {"status", "accumulatedPastExecutionTimeSeconds"}).value_or(0);
}

}  // namespace

TEST_CASE("changes after admission: a running job whose priority falls makes way for who waits") {
  World world({});
  SUBCASE("its label names a lower class") {
    run_and_wait(world, "high", "high");
    require_done(
        world.patch(job_key("running"), {{"metadata", {{"labels", {{"kueue.x-k8s.io/priority-class", "low"}}}}}}));
  }
  SUBCASE("the value of its class falls") {
    run_and_wait(world, "mine", "high");
    require_done(world.patch(class_key("mine"), {{"value", 10}}));
  }
  SUBCASE("its class is made anew with a lower value") {
    run_and_wait(world, "mine", "high");
    require_done(world.remove(class_key("mine")));
    world.run_for(1min);
    CHECK(workload_of(world, "running")["spec"]["priority"] == 1000);
    CHECK(runs(world, "running"));
    require_done(world.create(priority_class("mine", 10)));
  }
  CHECK(world.run_until([&] { return runs(world, "waiting"); }, 2min));
  CHECK(workload_of(world, "running")["spec"]["priority"] == 10);
  CHECK(condition_of(workload_of(world, "running"), "Evicted").starts_with("True Preempted"));
  const std::string report = world.report();
  INFO(report);
  CHECK(world.settle());
}

TEST_CASE("changes after admission: a class that is changed reaches Workloads that wait, and bare ones") {
  World world({});
  run_and_wait(world, "high", "mine");
  json bare = workload_of(world, "waiting");
  for (const char* key : {"ownerReferences", "uid", "resourceVersion", "labels", "finalizers"})
    bare["metadata"].erase(key);
  bare["metadata"]["name"] = "bare";
  bare.erase("status");
  // There is never room for it.
  bare["spec"]["podSets"][0]["count"] = 5;
  require_done(world.create(bare));
  world.run_for(1min);
  require_done(world.patch(class_key("mine"), {{"value", 2000}}));
  CHECK(world.run_until([&] { return runs(world, "waiting"); }, 2min));
  CHECK(workload_of(world, "waiting")["spec"]["priority"] == 2000);
  CHECK(world.get({&kWorkloads, "default", "bare"})["spec"]["priority"] == 2000);
  CHECK(world.settle());
}

TEST_CASE("changes after admission: a Workload's own priority is lowered, and who waits gets its place") {
  World world({});
  make_queues(world);
  require_done(world.create(long_job("running")));
  REQUIRE(world.run_until([&] { return runs(world, "running"); }, 1min));
  require_done(world.create(long_job("waiting")));
  world.run_for(1min);
  require_done(world.patch(workload_key(world, "running"), {{"spec", {{"priority", -5}}}}));
  CHECK(world.run_until([&] { return runs(world, "waiting"); }, 2min));
  CHECK(world.settle());
}

TEST_CASE("changes after admission: a wall clock that is set neither adds nor takes away execution time") {
  for (const Duration jump : {Duration(2h), -Duration(2h)}) {
    World world({});
    make_queues(world);
    json job = long_job("timed");
    job["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "100";
    require_done(world.create(job));
    REQUIRE(world.run_until([&] { return runs(world, "timed"); }, 1min));
    world.run_for(30s);
    world.jump_wall_clock(jump);
    world.run_for(10s);
    require_done(world.patch(kQueue, {{"spec", {{"stopPolicy", "HoldAndDrain"}}}}));
    REQUIRE(
        world.run_until([&] { return !world.condition_true(workload_key(world, "timed"), "QuotaReserved"); }, 1min));
    CHECK(accumulated(world, "timed") >= 38);
    CHECK(accumulated(world, "timed") <= 50);
    require_done(world.patch(kQueue, {{"spec", {{"stopPolicy", "None"}}}}));
    REQUIRE(world.run_until([&] { return runs(world, "timed"); }, 1min));
    // What is left is left, and no more.
    world.run_for(40s);
    CHECK(runs(world, "timed"));
    CHECK(world.run_until([&] { return !workload_of(world, "timed")["spec"].value("active", true); }, 30s));
    CHECK(world.settle());
  }
}

TEST_CASE("changes after admission: completions are remembered while a job is stopped and resumed") {
  World world({});
  make_queues(world);
  json job = with_spec(long_job("steps"), {{"completions", 5}});
  require_done(world.create(job));
  REQUIRE(world.run_until([&] { return runs(world, "steps"); }, 1min));
  const auto succeeded = [&] { return world.get(job_key("steps"))["status"].value("succeeded", 0); };
  const auto end_one = [&] {
    for (const json& pod : world.list(kPods)) {
      if (world.nodes().end_main({&kPods, "default", pod["metadata"]["name"]}, 0)) return true;
    }
    return false;
  };
  for (int ended = 1; ended <= 2; ++ended) {
    REQUIRE(end_one());
    REQUIRE(world.run_until([&] { return succeeded() == ended && runs(world, "steps"); }, 1min));
  }

  require_done(world.patch(kQueue, {{"spec", {{"stopPolicy", "HoldAndDrain"}}}}));
  REQUIRE(world.run_until([&] { return world.pods_running("steps") == 0; }, 2min));
  world.run_for(1min);
  CHECK(succeeded() == 2);
  require_done(world.patch(kQueue, {{"spec", {{"stopPolicy", "None"}}}}));
  REQUIRE(world.run_until([&] { return runs(world, "steps"); }, 2min));

  // Three more, not five.
  for (int ended = 3; ended <= 5; ++ended) {
    REQUIRE(world.run_until([&] { return end_one(); }, 1min));
    REQUIRE(world.run_until([&] { return succeeded() == ended; }, 1min));
  }
  CHECK(world.run_until([&] { return world.condition_true(job_key("steps"), "Complete"); }, 1min));
  CHECK(succeeded() == 5);
  CHECK(world.settle());
}

TEST_CASE("changes after admission: a job that is activated again has its full time") {
  World world({});
  make_queues(world);
  json job = long_job("timed");
  job["metadata"]["labels"]["kueue.x-k8s.io/max-exec-time-seconds"] = "60";
  require_done(world.create(job));
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    REQUIRE(world.run_until([&] { return runs(world, "timed"); }, 1min));
    world.run_for(50s);
    CHECK(runs(world, "timed"));
    REQUIRE(world.run_until(
        [&] {
          return condition_of(workload_of(world, "timed"), "QuotaReserved").starts_with("False") &&
                 !workload_of(world, "timed")["spec"].value("active", true);
        },
        30s));
    CHECK(accumulated(world, "timed") == 0);
    require_done(world.patch(workload_key(world, "timed"), {{"spec", {{"active", true}}}}));
  }
}

TEST_CASE("changes after admission: a Workload that comes back says why it waits") {
  World world({});
  make_queues(world);
  require_done(world.create(long_job("running")));
  REQUIRE(world.run_until([&] { return runs(world, "running"); }, 1min));
  for (const char* name : {"first", "second", "third"}) {
    require_done(world.create(long_job(name)));
    world.run_for(10s);
  }
  world.run_for(1min);
  // New ones of a shape that was evaluated write nothing, as in Kueue.
  CHECK(
      condition_of(workload_of(world, "first"), "QuotaReserved").starts_with("False WaitingForQuota: couldn't assign"));
  CHECK(condition_of(workload_of(world, "third"), "QuotaReserved").empty());
  require_done(world.patch(workload_key(world, "third"), {{"spec", {{"active", false}}}}));
  world.run_for(1min);
  CHECK(condition_of(workload_of(world, "third"), "QuotaReserved").starts_with("False Deactivated"));
  const int before = world.writes(kWorkloads).patch_status;
  require_done(world.patch(workload_key(world, "third"), {{"spec", {{"active", true}}}}));
  world.run_for(1min);
  CHECK(condition_of(workload_of(world, "third"), "QuotaReserved") ==
        "False WaitingForQuota: Bypassed scheduling evaluation because an equivalent workload recently failed");
  // Requeued, and this.
  CHECK(world.writes(kWorkloads).patch_status - before <= 2);
  CHECK(world.settle());
}

}  // namespace changes_after_admission_test
