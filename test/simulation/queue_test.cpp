// Whole lives of queued Jobs in virtual time, under the real engine and scheduler.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace queue_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr int kCpus = 4;
constexpr int kCount = 6;

std::string job_name(int i) {
  return "job" + std::to_string(i);
}

// Six Jobs of two pods before a queue of four cpus.
void submit(World& world) {
  for (const json& object : queues(kCpus)) require_done(world.create(object));
  for (int i = 0; i < kCount; ++i) require_done(world.create(queued_job(2, job_name(i))));
}

int jobs_with(World& world, std::string_view condition) {
  int found = 0;
  for (int i = 0; i < kCount; ++i) found += world.condition_true(job_key(job_name(i)), condition) ? 1 : 0;
  return found;
}

// Looks at every second until all Jobs are complete: no more pods run than there is quota.
bool all_complete_within_quota(World& world, Duration limit) {
  for (Duration passed{}; passed < limit; passed += 1s) {
    if (jobs_with(world, "Complete") == kCount) return true;
    CHECK(world.pods_running("job") <= kCpus);
    world.run_for(1s);
  }
  return false;
}

}  // namespace

TEST_CASE("queue: Jobs run in turn within their quota and their Workloads end") {
  World world({});
  submit(world);
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("job") == kCpus; }, 1min));
  CHECK(bool_at(world.get(job_key("job5")), {"spec", "suspend"}));
  CHECK(all_complete_within_quota(world, 30min));
  CHECK(world.settle());
  const json workloads = world.list(kWorkloads);
  CHECK(workloads.size() == kCount);
  for (const json& workload : workloads) {
    CHECK(condition_is_true(read_conditions(array_at(workload, {"status", "conditions"})), "Finished"));
    CHECK(array_at(workload, {"metadata", "finalizers"}).empty());
  }
  CHECK(world.violations().empty());
}

TEST_CASE("queue: a Job costs few writes and an admission one status write") {
  World world({});
  submit(world);
  REQUIRE(all_complete_within_quota(world, 30min));
  REQUIRE(world.settle());
  // The start; one meets what the Job controller has written since, and is sent again.
  CHECK(world.writes(kJobs).patch - world.writes(kJobs).conflicts == kCount);
  CHECK(world.writes(kJobs).conflicts <= 1);
  CHECK(world.writes(kWorkloads).create == kCount);
  CHECK(world.writes(kWorkloads).patch == kCount);  // the finalizer
  INFO(world.report());
  // Refused, admitted, a pod less to count, finished; and refused once more where something else is missing by then.
  CHECK(world.writes(kWorkloads).patch_status <= 5 * kCount);
}

TEST_CASE("queue: more quota wakes who waits") {
  World world({});
  submit(world);
  REQUIRE(world.run_until([&] { return world.pods_running("job") == kCpus; }, 1min));
  json groups = world.get({&kClusterQueues, "", "cluster"})["spec"]["resourceGroups"];
  groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = "12";
  require_done(
      world.api_server().patch({&kClusterQueues, "", "cluster"}, {{"spec", {{"resourceGroups", groups}}}}, {}));
  CHECK(world.run_until([&] { return world.pods_running("job") == 12; }, 30s));
  CHECK(world.settle());
}

TEST_CASE("queue: storms of faults lose nothing and admit nothing twice") {
  for (uint64_t seed = 1; seed <= seeds(20); ++seed) {
    World world({.seed = seed, .replicas = 2, .faults = Faults::storm()});
    submit(world);
    INFO(world.report());
    all_complete_within_quota(world, std::chrono::seconds(60 + 10 * seed));
    world.calm();
    CHECK(all_complete_within_quota(world, 60min));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

}  // namespace queue_test
