// Pods in their grace period hold the quota of their job.
#include <doctest/doctest.h>

#include "api/meta/constants.h"
#include "reconcilers/pod_search.h"
#include "reconcilers/workload/pods_left.h"
#include "test/reconcilers/job/running_train.h"

namespace job_graces_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using namespace std::chrono_literals;

TEST_CASE("graces: pods that are deleted hold the quota of their job as long as they may run") {
  struct Row {
    const char* name;
    int64_t grace;
    std::optional<Duration> longest;
    std::chrono::minutes held;
  };
  const Row rows[] = {
      {"30 s", 30, std::nullopt, 5min},
      {"an hour", 3600, std::nullopt, 65min},
      {"an hour, bounded by the administrator", 3600, 10min, 15min},
      {"shorter than the bound", 60, 10min, 6min},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Running cluster;
    cluster.settings.longest_grace = row.longest;
    cluster.vanish(kPods, "train-0");
    for (const ResourceType* type : {&kJobs, &kWorkloads}) {
      cluster.edit(*type, type == &kJobs ? "train" : cluster.workload, [&](json& object) {
        json& pod_template = type == &kJobs ? object["spec"]["template"] : object["spec"]["podSets"][0]["template"];
        pod_template["spec"]["terminationGracePeriodSeconds"] = row.grace;
      });
    }
    cluster.evict();
    cluster.settle(cluster.kTrain);
    cluster.edit(kJobs, "train", [&](json& job) {
      job["status"] = {
          {"active", 0},
          {"terminating", 2},
          {"conditions", json::array({condition_at(cluster.stamp(), "Suspended", "True", "JobSuspended")})}};
    });
    CHECK(cluster.reconcile(cluster.kTrain).again_at.has_value());
    cluster.live(row.held);
    CHECK(cluster.has_quota());
    cluster.live(2min);
    CHECK_FALSE(cluster.has_quota());
    CHECK(
        cluster.note_of("PodsOverstay").starts_with("Warning: 2 of its pods were deleted and have not ended in time"));
  }
}

TEST_CASE("graces: pods that were deleted with a longer grace period than their template's hold the quota") {
  Running cluster;
  cluster.evict();
  cluster.settle(cluster.kTrain);
  cluster.edit(kPods, "train-0", [](json& pod) {
    pod["metadata"]["deletionTimestamp"] = "2026-01-03T12:00:00Z";
    pod["metadata"]["deletionGracePeriodSeconds"] = 172800;
  });
  cluster.edit(kJobs, "train", [&](json& job) {
    job["status"] = {{"terminating", 1},
                     {"conditions", json::array({condition_at(cluster.stamp(), "Suspended", "True", "JobSuspended")})}};
  });
  cluster.live(30min);
  CHECK(cluster.has_quota());
  cluster.vanish(kPods, "train-0");
  cluster.live(2min);
  CHECK_FALSE(cluster.has_quota());
}

TEST_CASE("graces: pods that have ended in time give the quota back at once, and no event complains") {
  Running cluster;
  cluster.evict();
  cluster.settle(cluster.kTrain);
  const auto terminating = [&](int pods) {
    cluster.edit(kJobs, "train", [&](json& job) {
      job["status"] = {
          {"terminating", pods},
          {"conditions", json::array({condition_at(cluster.stamp(), "Suspended", "True", "JobSuspended")})}};
    });
    cluster.settle(cluster.kTrain);
  };
  terminating(1);
  CHECK(cluster.has_quota());
  terminating(0);
  CHECK_FALSE(cluster.has_quota());
  CHECK(cluster.count_events("PodsOverstay") == 0);
}

}  // namespace job_graces_test
