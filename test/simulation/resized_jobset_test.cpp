// A queued JobSet whose containers get other resources while it is suspended (JobSet KEP-1150): quota is asked again.
#include "test/simulation/pods_ready_world.h"

namespace resized_jobset_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const ObjectKey kSet{&kJobSets, "default", "set"};

json replicated(const std::string& cpu) {
  json spec = queued_job(1, "work")["spec"];
  spec.erase("suspend");
  spec["template"]["metadata"]["annotations"] = {{kRunSeconds, "600"}};
  spec["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu;
  return json::array({{{"name", "work"}, {"replicas", 1}, {"template", {{"spec", spec}}}}});
}

json jobset(const std::string& cpu) {
  return {{"apiVersion", kJobSets.api_version},
          {"kind", kJobSets.kind},
          {"metadata", {{"name", "set"}, {"namespace", "default"}, {"labels", {{kQueueNameLabel, "team"}}}}},
          {"spec", {{"replicatedJobs", replicated(cpu)}}}};
}

QueueSettings resizable() {
  QueueSettings queues;
  queues.rules.jobset_feature_gates = {{"MutablePodResourcesForSuspendedJobSets", true}};
  return queues;
}

void resize(World& world, const std::string& cpu) {
  require_done(world.patch(kSet, {{"spec", {{"replicatedJobs", replicated(cpu)}}}}));
}

void set_active(World& world, bool active) {
  for (const json& workload : world.list(kWorkloads)) {
    const std::string name = workload["metadata"]["name"];
    if (!name.starts_with("jobset-set-")) continue;
    require_done(world.patch({&kWorkloads, "default", name}, {{"spec", {{"active", active}}}}));
  }
}

std::string cpu_of_job(const World& world) {
  const json job = world.get({&kJobs, "default", "set-work-0"});
  return job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"];
}

}  // namespace

TEST_CASE("resized: a JobSet that is too large for its queue starts with less") {
  World world({.queues = resizable()});
  for (const json& object : queues(2)) require_done(world.create(object));
  require_done(world.create(jobset("4")));
  INFO(world.report());
  CHECK_FALSE(world.run_until([&] { return world.pods_running("set") > 0; }, 1min));
  resize(world, "2");
  REQUIRE(world.run_until([&] { return world.pods_running("set") == 1; }, 2min));
  CHECK(cpu_of_job(world) == "2");
  CHECK(world.list(kWorkloads).size() == 1);
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("resized: a JobSet that was stopped and grows has quota for what it asks now") {
  World world({.queues = resizable()});
  for (const json& object : queues(2)) require_done(world.create(object));
  require_done(world.create(jobset("1")));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("set") == 1; }, 2min));
  set_active(world, false);
  REQUIRE(world.run_until([&] { return world.pods_running("set") == 0 && world.get(kSet)["spec"]["suspend"] == true; },
                          2min));
  require_done(world.create(queued_job(1, "other")));
  REQUIRE(world.run_until([&] { return world.pods_running("other") == 1; }, 2min));
  resize(world, "2");
  world.run_for(30s);
  set_active(world, true);
  // Not beside the other job.
  CHECK_FALSE(world.run_until([&] { return world.pods_running("set") > 0 && world.pods_running("other") > 0; }, 30s));
  REQUIRE(world.run_until([&] { return world.pods_running("set") == 1; }, 30min));
  CHECK(cpu_of_job(world) == "2");
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

}  // namespace resized_jobset_test
