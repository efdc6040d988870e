// Quota is given back when nothing of a job runs, ends or was orphaned: whole lives under the real engine, beside the
// invariant that no pod has a node whose quota was given back.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "scheduler/eligibility.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/world/world.h"

namespace release_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr const char* kHeld = "example.com/held";

json long_job(int pods, const std::string& name, const char* priority) {
  json job = queued_job(pods, name);
  job["metadata"]["labels"] = {{kQueueNameLabel, "red"}, {kPriorityClassLabel, priority}};
  job["spec"]["template"]["metadata"]["annotations"] = {{"simulation.muster.batch/run-seconds", "36000"}};
  return job;
}

json long_jobset(const std::string& name, const char* priority) {
  json spec = long_job(2, "w", priority)["spec"];
  return {
      {"apiVersion", kJobSets.api_version},
      {"kind", "JobSet"},
      {"metadata",
       {{"name", name},
        {"namespace", "default"},
        {"labels", {{std::string(kQueueNameLabel), "red"}, {std::string(kPriorityClassLabel), priority}}}}},
      {"spec", {{"replicatedJobs", json::array({{{"name", "w"}, {"replicas", 1}, {"template", {{"spec", spec}}}}})}}}};
}

// Two cpus, in a Cohort with nothing to borrow.
struct Cluster {
  Cluster() : world(WorldOptions{}) {
    for (json object : two_teams(2)) {
      if (object["kind"] == "ClusterQueue") object["spec"].erase("cohortName");
      require_done(world.create(object));
    }
  }
  bool runs(int pods, const std::string& prefix, Duration within = 2min) {
    return world.run_until([&] { return world.pods_running(prefix) == pods; }, within);
  }
  // For a while nothing of it runs.
  bool waits(const std::string& prefix) {
    return !world.run_until([&] { return world.pods_running(prefix) > 0; }, 10min);
  }
  void delete_pods(const std::string& label) {
    for (const json& pod : world.list(kPods, label)) require_done(world.remove(key_of(kPods, pod)));
  }
  bool all_well() { return world.settle() && world.violations().empty(); }

  World world;
};

}  // namespace

TEST_CASE("release: a deleted Job that a finalizer holds runs on, and is preempted as any other") {
  Cluster cluster;
  json low = long_job(2, "low", "low");
  low["metadata"]["finalizers"] = {kHeld};
  require_done(cluster.world.create(low));
  REQUIRE(cluster.runs(2, "low"));
  require_done(cluster.world.remove(job_key("low")));
  cluster.world.run_for(5min);
  CHECK(cluster.world.pods_running("low") == 2);
  require_done(cluster.world.create(long_job(2, "high", "high")));
  INFO(cluster.world.report());
  CHECK(cluster.runs(2, "high"));
  CHECK(cluster.world.pods_running("low") == 0);
  CHECK_FALSE(cluster.world.get(job_key("low")).is_null());
  CHECK(cluster.all_well());
}

TEST_CASE("release: the pods of an orphaned Job keep its quota until they end") {
  Cluster cluster;
  require_done(cluster.world.create(long_job(2, "a", "low")));
  REQUIRE(cluster.runs(2, "a"));
  const std::string pods = "batch.kubernetes.io/job-name=a";
  require_done(cluster.world.orphan(job_key("a")));
  require_done(cluster.world.create(long_job(2, "b", "low")));
  INFO(cluster.world.report());
  CHECK(cluster.waits("b"));
  CHECK(cluster.world.get(job_key("a")).is_null());
  CHECK(cluster.world.pods_running("a") == 2);
  cluster.delete_pods(pods);
  CHECK(cluster.runs(2, "b", 3min));
  CHECK(cluster.all_well());
}

TEST_CASE("release: the pods of a Job that is gone keep its quota while they end, however it was deleted") {
  for (const auto propagation : {reconcilers::Propagation::kBackground, reconcilers::Propagation::kForeground}) {
    Cluster cluster;
    require_done(cluster.world.create(long_job(2, "a", "low")));
    REQUIRE(cluster.runs(2, "a"));
    require_done(cluster.world.create(long_job(2, "b", "low")));
    cluster.world.run_for(10s);
    require_done(cluster.world.remove(job_key("a"), propagation));
    INFO(cluster.world.report());
    CHECK(cluster.runs(2, "b"));
    CHECK(cluster.world.get(job_key("a")).is_null());
    CHECK(cluster.all_well());
  }
}

TEST_CASE("release: the Jobs of an orphaned JobSet keep its quota, and are suspended when it is taken away") {
  Cluster cluster;
  const ObjectKey key{&kJobSets, "default", "train"};
  require_done(cluster.world.create(long_jobset("train", "low")));
  REQUIRE(cluster.runs(2, "train"));
  require_done(cluster.world.orphan(key));
  require_done(cluster.world.create(long_job(2, "b", "low")));
  INFO(cluster.world.report());
  CHECK(cluster.waits("b"));
  CHECK(cluster.world.get(key).is_null());
  CHECK(cluster.world.pods_running("train") == 2);
  require_done(cluster.world.create(long_job(2, "high", "high")));
  CHECK(cluster.runs(2, "high", 3min));
  CHECK(cluster.world.pods_running("train") == 0);
  CHECK(cluster.all_well());
}

TEST_CASE("release: a Job that its JobSet has lost keeps the quota, and is suspended when it is taken away") {
  Cluster cluster;
  require_done(cluster.world.create(long_jobset("train", "low")));
  REQUIRE(cluster.runs(2, "train"));
  const ObjectKey part = job_key("train-w-0");
  const json without = {{"metadata", {{"ownerReferences", nullptr}}}};
  CHECK(cluster.world.patch(part, without).outcome == reconcilers::WriteOutcome::kRefused);
  // While the webhooks are away it is not refused; an admitter is not refused either.
  require_done(cluster.world.api_server().patch(part, without, {.user = "system:serviceaccount:muster-system:muster"}));
  cluster.world.run_for(10s);
  require_done(cluster.world.create(long_job(2, "high", "high")));
  INFO(cluster.world.report());
  CHECK(cluster.runs(2, "high", 3min));
  CHECK(cluster.world.pods_running("train") == 0);
  CHECK(cluster.all_well());
}

}  // namespace release_test
