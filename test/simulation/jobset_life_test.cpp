// Whole lives of JobSets, with muster as the JobSet controller, under Kubernetes' Job
// controller and kubelets. What is done in which state is test/reconcilers/jobset/jobset_test.cpp.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "test/simulation/manifests.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace jobset_life_test {

using namespace muster;
using namespace muster::world;
using namespace std::chrono_literals;
using muster::test::pod_template;
using nlohmann::json;

namespace {

json replicated(const char* name, int replicas, int pods, const char* run_seconds = "60", const char* exit_code = "0") {
  json pod = pod_template();
  pod["metadata"]["annotations"] = {{kRunSeconds, run_seconds}, {kExitCode, exit_code}};
  return {
      {"name", name},
      {"replicas", replicas},
      {"template", {{"spec", {{"parallelism", pods}, {"completions", pods}, {"backoffLimit", 0}, {"template", pod}}}}}};
}

json train(json replicated_jobs, const json& spec = json::object()) {
  json object = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                 {"kind", "JobSet"},
                 {"metadata", {{"name", "train"}, {"namespace", "default"}}},
                 {"spec", {{"replicatedJobs", std::move(replicated_jobs)}}}};
  object["spec"].merge_patch(spec);
  return object;
}

const ObjectKey kTrain{&kJobSets, "default", "train"};

QueueSettings restarting_jobs() {
  QueueSettings queues;
  queues.rules.jobset_feature_gates = {{"RestartJob", true}};
  return queues;
}

int jobs_of(const World& world) {
  return static_cast<int>(world.list(kJobs).size());
}

int64_t restarts(const World& world) {
  return int_at(world.get(kTrain), {"status", "restarts"}).value_or(0);
}

void suspend(World& world, bool suspended) {
  require_done(world.patch(kTrain, {{"spec", {{"suspend", suspended}}}}));
}

std::string reason_of(const World& world, std::string_view type) {
  const json jobset_now = world.get(kTrain);
  for (const json& condition : array_at(jobset_now, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) == type) return std::string(string_at(condition, {"reason"}));
  }
  return "";
}

}  // namespace

TEST_CASE("jobset life: it is made and runs and completes with few writes") {
  World world({});
  require_done(world.create(train(json::array({replicated("driver", 1, 1), replicated("workers", 2, 3)}))));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 7; }, 2min));
  world.run_for(5s);
  CHECK(world.writes(kJobs).create == 3);
  CHECK(world.writes(kServices).create == 1);
  CHECK(world.writes(kJobSets).patch_status <= 3);
  REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Completed"); }, 5min));
  CHECK(world.get(kTrain)["status"]["terminalState"] == "Completed");
  CHECK(world.settle());
  CHECK(world.has_event("AllJobsCompleted"));
  CHECK(jobs_of(world) == 3);
}

TEST_CASE("jobset life: many at once cost at most three status writes each until all run") {
  World world({.nodes = {.nodes = 5}});
  for (int i = 0; i < 50; ++i) {
    json object = train(json::array({replicated("workers", 2, 5, "100000")}));
    object["metadata"]["name"] = "train-" + std::to_string(i);
    require_done(world.create(std::move(object)));
  }
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 500; }, 10min));
  world.run_for(40s);
  CHECK(world.writes(kJobs).create == 100);
  CHECK(world.writes(kJobSets).patch_status >= 50);
  CHECK(world.writes(kJobSets).patch_status <= 150);
  CHECK(world.writes(kJobs).patch == 0);
  CHECK(world.writes(kServices).create == 50);
}

TEST_CASE("jobset life: a failing one restarts as often as it may and then fails") {
  World world({});
  require_done(
      world.create(train(json::array({replicated("driver", 1, 1, "3000"), replicated("workers", 2, 1, "5", "1")}),
                         {{"failurePolicy", {{"maxRestarts", 2}}}})));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return restarts(world) == 1; }, 5min));
  REQUIRE(world.run_until([&] { return jobs_of(world) == 3 && world.pods_running("train") > 0; }, 2min));
  REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Failed"); }, 10min));
  CHECK(restarts(world) == 2);
  CHECK(reason_of(world, "Failed") == "ReachedMaxRestarts");
  CHECK(world.settle());
  CHECK(world.has_event("RestartJobSetFailurePolicyAction"));
  CHECK(world.pods_running("train-driver") == 0);
}

TEST_CASE("jobset life: a single Job restarts as often as it may while the others run on") {
  World world({.queues = restarting_jobs()});
  const json policy = {{"maxRestarts", 2}, {"rules", json::array({{{"action", "RestartJob"}}})}};
  require_done(
      world.create(train(json::array({replicated("driver", 1, 1, "3000"), replicated("workers", 1, 2, "5", "1")}),
                         {{"failurePolicy", policy}})));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("train-driver") == 1; }, 2min));
  const json driver = world.get({&kJobs, "default", "train-driver-0"})["metadata"]["uid"];
  const auto job_restarts = [&] {
    const json live = world.get(kTrain);
    for (const json& entry : array_at(live, {"status", "replicatedJobsStatus"})) {
      if (string_at(entry, {"name"}) == "workers") return entry.value("jobRestarts", json::array());
    }
    return json::array();
  };
  REQUIRE(world.run_until([&] { return job_restarts() == json{1}; }, 5min));
  REQUIRE(world.run_until([&] { return job_restarts() == json{2}; }, 5min));
  CHECK(world.get({&kJobs, "default", "train-driver-0"})["metadata"]["uid"] == driver);
  CHECK(world.pods_running("train-driver") == 1);
  REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Failed"); }, 5min));
  CHECK(restarts(world) == 0);
  CHECK(reason_of(world, "Failed") == "ReachedMaxRestarts");
  CHECK(world.settle());
  CHECK(world.has_event("RestartJobFailurePolicyAction"));
}

TEST_CASE("jobset life: a member of a gang that restarts by itself passes the barrier that is open") {
  World world({.queues = restarting_jobs()});
  const json policy = {{"maxRestarts", 1}, {"rules", json::array({{{"action", "RestartJob"}}})}};
  json object = train(json::array({replicated("driver", 1, 1, "3000"), replicated("workers", 1, 2, "20", "1")}),
                      {{"failurePolicy", policy}});
  object["metadata"]["annotations"] = {{kGroupTimeoutAnnotation, "300"}};
  require_done(world.create(object));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 3; }, 2min));
  REQUIRE(world.run_until([&] { return world.has_event("RestartJobFailurePolicyAction"); }, 5min));
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 3; }, 2min));
  CHECK(restarts(world) == 0);
}

TEST_CASE("jobset life: its claims go with it unless they are to be retained") {
  World world({});
  const auto policy = [](const char* name, const char* when_deleted) -> json {
    const json claim = {{"metadata", {{"name", name}}}, {"spec", {{"accessModes", {"ReadWriteOnce"}}}}};
    return {{"retentionPolicy", {{"whenDeleted", when_deleted}}}, {"templates", json::array({claim})}};
  };
  json job = replicated("workers", 1, 1);
  job["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] =
      json::array({{{"name", "data"}, {"mountPath", "/data"}}, {{"name", "kept"}, {"mountPath", "/kept"}}});
  require_done(world.create(
      train(json::array({job}),
            {{"volumeClaimPolicies", json::array({policy("data", "Delete"), policy("kept", "Retain")})}})));
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 1; }, 2min));
  CHECK(world.list(kPersistentVolumeClaims).size() == 2);
  CHECK(world.writes(kPersistentVolumeClaims).create == 2);
  require_done(world.remove(kTrain));
  world.run_for(2min);
  REQUIRE(world.list(kPersistentVolumeClaims).size() == 1);
  CHECK(world.list(kPersistentVolumeClaims)[0]["metadata"]["name"] == "kept-train");
}

TEST_CASE("jobset life: InOrder and dependsOn start what comes later later") {
  struct Row {
    std::string name;
    json spec;
    const char* until;  // dependsOn; nullptr: InOrder
    bool with_driver;   // the workers run beside the driver
  };
  const Row rows[] = {
      {"InOrder", {{"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}}, nullptr, true},
      {"dependsOn Ready", json::object(), "Ready", true},
      {"dependsOn Complete", json::object(), "Complete", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world({});
    world.nodes().hold("train-driver-0-0");
    json workers = replicated("workers", 2, 1, "300");
    if (row.until != nullptr) workers["dependsOn"] = json::array({{{"name", "driver"}, {"status", row.until}}});
    require_done(world.create(train(json::array({replicated("driver", 1, 1), workers}), row.spec)));
    world.run_for(2min);
    INFO(world.report());
    CHECK(jobs_of(world) == 1);
    world.nodes().release("train-driver-0-0");
    REQUIRE(world.run_until([&] { return world.pods_running("train-workers") == 2; }, 5min));
    CHECK(world.pods_running("train-driver") == (row.with_driver ? 1 : 0));
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Completed"); }, 20min));
    CHECK(world.condition_true(kTrain, "StartupPolicyCompleted") == (row.until == nullptr));
    CHECK(world.settle());
  }
}

TEST_CASE("jobset life: it is suspended and resumed with another template before and after Kubernetes 1.36") {
  for (const bool resumed_jobs_may_change : {true, false}) {
    INFO(resumed_jobs_may_change);
    World world({.api_server = {.resumed_jobs_may_change = resumed_jobs_may_change}});
    require_done(world.create(train(json::array({replicated("workers", 2, 2, "600")}))));
    INFO(world.report());
    REQUIRE(world.run_until([&] { return world.pods_running("train") == 4; }, 2min));
    suspend(world, true);
    REQUIRE(world.run_until([&] { return world.pods_running("train") == 0; }, 2min));
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Suspended"); }, 1min));

    json object = world.get(kTrain);
    json jobs_of_spec = object["spec"]["replicatedJobs"];
    jobs_of_spec[0]["template"]["spec"]["template"]["spec"]["nodeSelector"] = {{"flavor", "spot"}};
    require_done(world.patch(kTrain, {{"spec", {{"suspend", false}, {"replicatedJobs", jobs_of_spec}}}}));
    REQUIRE(world.run_until([&] { return world.pods_running("train") == 4; }, 2min));
    for (const json& pod : world.list(kPods)) {
      if (!pod["metadata"].contains("deletionTimestamp")) CHECK(pod["spec"]["nodeSelector"]["flavor"] == "spot");
    }
    CHECK(reason_of(world, "Suspended") == "ResumeJobs");
    CHECK(restarts(world) == 0);
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Completed"); }, 20min));
    CHECK(world.settle());
  }
}

TEST_CASE("jobset life: a finished one is deleted with its children when its time has come") {
  World world({});
  require_done(world.create(train(json::array({replicated("workers", 2, 1)}), {{"ttlSecondsAfterFinished", 100}})));
  REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Completed"); }, 5min));
  world.run_for(95s);
  CHECK(world.get(kTrain).is_object());
  CHECK(world.run_until([&] { return world.get(kTrain).is_null(); }, 20s));
  INFO(world.report());
  CHECK(world.settle());
  CHECK(jobs_of(world) == 0);
  CHECK(world.list(kServices).empty());
}

TEST_CASE("jobset life: one that is deleted and made again under its name starts from nothing") {
  for (const reconcilers::Propagation propagation :
       {reconcilers::Propagation::kBackground, reconcilers::Propagation::kForeground}) {
    World world({});
    const json manifest = train(json::array({replicated("workers", 2, 2, "600")}));
    require_done(world.create(manifest));
    REQUIRE(world.run_until([&] { return world.pods_running("train") == 4; }, 2min));
    const std::string former(string_at(world.get(kTrain), {"metadata", "uid"}));
    require_done(world.remove(kTrain, propagation));
    REQUIRE(world.run_until([&] { return world.get(kTrain).is_null(); }, 1min));
    require_done(world.create(manifest));
    const std::string uid(string_at(world.get(kTrain), {"metadata", "uid"}));
    REQUIRE(uid != former);
    INFO(world.report());
    REQUIRE(world.run_until(
        [&] {
          const auto pods = world.list(kPods, "jobset.sigs.k8s.io/jobset-uid=" + uid);
          return pods.size() == 4 && world.pods_running("train") == 4;
        },
        5min));
    world.run_for(1min);
    CHECK(world.list(kPods, "jobset.sigs.k8s.io/jobset-uid=" + former).empty());
    CHECK(world.list(kServices).size() == 1);
    CHECK(restarts(world) == 0);
    CHECK(world.settle());
  }
}

TEST_CASE("jobset life: a gang that comes too late is failed once and for all or suspended until resumed") {
  struct Row {
    std::string name;
    const char* on_timeout;
  };
  for (const Row& row : {Row{"failed", "Fail"}, Row{"suspended", "Suspend"}}) {
    INFO(row.name);
    const bool suspends = row.name == "suspended";
    World world({});
    world.nodes().hold("train-workers-1-0");
    json object = train(json::array({replicated("workers", 2, 2)}), {{"failurePolicy", {{"maxRestarts", 5}}}});
    object["metadata"]["annotations"] = {{"muster.batch/group-scheduling-timeout-seconds", "60"},
                                         {"muster.batch/group-scheduling-on-timeout", row.on_timeout}};
    require_done(world.create(object));
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, suspends ? "Suspended" : "Failed"); }, 5min));
    INFO(world.report());
    CHECK(world.settle());
    CHECK(restarts(world) == 0);
    CHECK(world.pods_running("train") == 0);
    if (!suspends) {
      CHECK(reason_of(world, "Failed") == "GroupSchedulingTimeout");
      continue;
    }
    CHECK(jobs_of(world) == 2);
    world.nodes().release("train-workers-1-0");
    suspend(world, false);
    REQUIRE(world.run_until([&] { return world.pods_running("train") == 4; }, 5min));
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Completed"); }, 20min));
    CHECK(restarts(world) == 0);
    CHECK(world.settle());
  }
}

TEST_CASE("jobset life: it survives a death of muster after any of its first writes") {
  for (int write = 1; write <= 12; ++write) {
    INFO(write);
    World world({.seed = static_cast<uint64_t>(write)});
    world.kill_after_write(write);
    require_done(world.create(train(json::array({replicated("driver", 1, 1), replicated("workers", 2, 1, "20", "1")}),
                                    {{"failurePolicy", {{"maxRestarts", 1}}}})));
    INFO(world.report());
    REQUIRE(world.run_until([&] { return world.condition_true(kTrain, "Failed"); }, 20min));
    CHECK(restarts(world) == 1);
    CHECK(world.settle());
  }
}

TEST_CASE("jobset life: in storms of faults it completes all the same") {
  for (uint64_t seed = 1; seed <= test::seeds(20); ++seed) {
    World world({.seed = seed, .replicas = 2, .faults = Faults::storm()});
    require_done(world.create(train(json::array({replicated("driver", 1, 1), replicated("workers", 2, 2)}),
                                    {{"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}})));
    world.run_for(2min);
    world.calm();
    const bool completed = world.run_until([&] { return world.condition_true(kTrain, "Completed"); }, 30min);
    INFO(world.report());
    CHECK(completed);
    CHECK(world.settle());
  }
}

}  // namespace jobset_life_test
