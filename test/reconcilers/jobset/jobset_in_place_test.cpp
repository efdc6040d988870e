// In-place restarts: the barrier that all pods of a JobSet pass together, and what a forged pod can do to it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "api/pods/in_place_pod.h"
#include "reconcilers/jobset/jobset.h"
#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_in_place_test {

using namespace muster;
using namespace muster::reconcilers;
using muster::test::controlled_by;
using muster::test::JobSetCluster;
using muster::test::Texts;
using muster::test::train_jobset;
using nlohmann::json;

namespace {

constexpr const char* kAttempt = "jobset.sigs.k8s.io/in-place-restart-attempt";
const Texts kStatus = {"status jobsets/train"};

// All pods of the three Jobs, without an attempt.
struct InPlaceCluster : JobSetCluster {
  explicit InPlaceCluster(int max_restarts = 3)
      : JobSetCluster(
            train_jobset({{"failurePolicy", {{"maxRestarts", max_restarts}, {"restartStrategy", "InPlaceRestart"}}}})) {
    settle();
    run_all();
    settle();
    make_pods();
    settle();
  }

  void make_pods() {
    for (const std::string& job : jobs()) {
      const int pods = get(kJobs, job)["spec"]["parallelism"];
      for (int i = 0; i < pods; ++i) make_pod(job + "-" + std::to_string(i), get(kJobs, job));
    }
  }
  void make_pod(const std::string& name, const json& job) {
    put(kInPlacePods, {{"metadata",
                        {{"name", name},
                         {"labels", {{"jobset.sigs.k8s.io/jobset-name", "train"}}},
                         {"ownerReferences", controlled_by(kJobs, job["metadata"]["name"], job["metadata"]["uid"])}}},
                       {"status", {{"phase", "Running"}}}});
  }
  void report(const std::string& pod, const std::string& attempt) {
    patch(kInPlacePods, pod, {{"metadata", {{"annotations", {{kAttempt, attempt}}}}}});
  }
  void report_all(const std::string& attempt) {
    for (const char* pod : kPods) report(pod, attempt);
  }
  void drop_pods() {
    for (const char* pod : kPods) vanish(kInPlacePods, pod);
  }
  std::optional<int> current() const { return number("currentInPlaceRestartAttempt"); }
  std::optional<int> previous() const { return number("previousInPlaceRestartAttempt"); }
  std::optional<int> number(const char* field) const {
    const json status_now = status();
    return status_now.contains(field) ? std::optional<int>(status_now[field]) : std::nullopt;
  }

  static constexpr const char* kPods[] = {"train-driver-0-0", "train-workers-0-0", "train-workers-0-1",
                                          "train-workers-1-0", "train-workers-1-1"};
};

// The first attempt has begun.
InPlaceCluster started(int max_restarts = 3) {
  InPlaceCluster cluster(max_restarts);
  cluster.report_all("0");
  cluster.settle();
  return cluster;
}

}  // namespace

TEST_CASE("in-place restart: the barrier opens when all pods have come, and not before") {
  InPlaceCluster cluster;
  CHECK_FALSE(cluster.current());
  for (const char* pod : InPlaceCluster::kPods) {
    CHECK(cluster.settle().empty());
    cluster.report(pod, "0");
  }
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.current() == 0);
  CHECK_FALSE(cluster.previous());
}

TEST_CASE("in-place restart: one pod that begins again takes the others with it") {
  InPlaceCluster cluster = started();
  cluster.report("train-workers-1-1", "1");
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.current() == 0);
  CHECK(cluster.previous() == 0);
  cluster.report("train-workers-0-0", "1");
  CHECK(cluster.settle().empty());
  cluster.report_all("1");
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.current() == 1);
  CHECK(cluster.previous() == 0);
  CHECK(cluster.status().value("restarts", 0) == 0);
  CHECK(cluster.jobs().size() == 3);
}

TEST_CASE("in-place restart: a pod that is replaced is waited for") {
  InPlaceCluster cluster = started();
  cluster.patch(kInPlacePods, "train-workers-0-0", {{"status", {{"phase", "Failed"}}}});
  CHECK(cluster.settle().empty());
  cluster.make_pod("train-workers-0-0-again", cluster.get(kJobs, "train-workers-0"));
  CHECK(cluster.settle().empty());
  cluster.report("train-workers-0-0-again", "1");
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.previous() == 0);
  for (const char* pod : {"train-driver-0-0", "train-workers-0-1", "train-workers-1-0", "train-workers-1-1"})
    cluster.report(pod, "1");
  CHECK(cluster.settle() == kStatus);
  CHECK(cluster.current() == 1);
}

TEST_CASE("in-place restart: pods that have succeeded are not waited for") {
  InPlaceCluster cluster = started();
  cluster.patch(kInPlacePods, "train-workers-0-1", {{"status", {{"phase", "Succeeded"}}}});
  cluster.job_status("train-workers-0", {{"active", 1}, {"ready", 1}, {"succeeded", 1}});
  cluster.complete("train-driver-0");
  cluster.settle();
  for (const char* pod : {"train-workers-0-0", "train-workers-1-0", "train-workers-1-1"}) cluster.report(pod, "1");
  cluster.settle();
  CHECK(cluster.current() == 1);
  cluster.complete("train-workers-0");
  cluster.complete("train-workers-1");
  cluster.settle();
  CHECK(cluster.condition("Completed") == "True AllJobsCompleted");
}

TEST_CASE("in-place restart: maxRestarts limits attempts, and containers that end before the barrier opens") {
  SUBCASE("attempts") {
    InPlaceCluster cluster = started(1);
    cluster.report_all("1");
    cluster.settle();
    CHECK(cluster.current() == 1);
    cluster.report("train-driver-0-0", "2");
    cluster.settle();
    CHECK(cluster.condition("Failed") == "True ReachedMaxRestarts");
    CHECK(cluster.status()["conditions"].back()["message"] == "jobset failed due to reaching max number of restarts");
  }
  SUBCASE("attempts after restarts that do not count") {
    InPlaceCluster cluster = started(1);
    cluster.patch(kJobSets, "train", {{"status", {{"currentInPlaceRestartAttempt", 2}, {"restarts", 1}}}});
    for (const std::string& job : cluster.jobs())
      cluster.patch(kJobs, job, {{"metadata", {{"labels", {{"jobset.sigs.k8s.io/restart-attempt", "1"}}}}}});
    cluster.report_all("2");
    cluster.settle();
    CHECK(cluster.condition("Failed").empty());
    cluster.report("train-driver-0-0", "3");
    cluster.settle();
    CHECK(cluster.condition("Failed") == "True ReachedMaxRestarts");
  }
  SUBCASE("containers") {
    InPlaceCluster cluster(1);
    cluster.patch(kInPlacePods, "train-driver-0-0",
                  {{"status", {{"initContainerStatuses", json::array({{{"name", "a"}, {"restartCount", 1}}})}}}});
    CHECK(cluster.settle().empty());
    cluster.patch(kInPlacePods, "train-driver-0-0",
                  {{"status", {{"containerStatuses", json::array({{{"name", "w"}, {"restartCount", 2}}})}}}});
    cluster.settle();
    CHECK(cluster.condition("Failed") == "True ReachedMaxRestarts");
  }
}

TEST_CASE("in-place restart: a failed Job restarts the JobSet, and its new pods are an attempt ahead") {
  InPlaceCluster cluster = started();
  cluster.fail("train-workers-0");
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 1);
  CHECK(cluster.current() == 0);
  cluster.collect_garbage();
  cluster.drop_pods();
  cluster.settle();
  cluster.run_all();
  cluster.make_pods();
  cluster.settle();
  cluster.report_all("1");
  cluster.settle();
  CHECK(cluster.current() == 1);
  CHECK(cluster.condition("Failed").empty());
}

TEST_CASE("in-place restart: a preemption is no restart") {
  InPlaceCluster cluster = started(0);
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
  cluster.settle();
  CHECK(cluster.current() == 0);
  cluster.drop_pods();
  cluster.settle();
  CHECK_FALSE(cluster.current());
  CHECK_FALSE(cluster.previous());
  for (const std::string& job : cluster.jobs())
    cluster.job_status(job, {{"active", 0}, {"ready", 0}, {"startTime", nullptr}});
  cluster.patch(kJobSets, "train", {{"spec", {{"suspend", false}}}});
  cluster.settle();
  cluster.run_all();
  cluster.make_pods();
  cluster.report_all("0");
  cluster.settle();
  CHECK(cluster.current() == 0);
  CHECK(cluster.condition("Failed").empty());
}

TEST_CASE("in-place restart: forged pods and attempts change nothing") {
  InPlaceCluster cluster = started();
  SUBCASE("more than one attempt ahead, or no number") {
    for (const char* attempt : {"2", "2147483647", "99999999999", "-1", "", "one", "0x1", " 1", "1.0"}) {
      INFO(attempt);
      cluster.report("train-driver-0-0", attempt);
      CHECK(cluster.settle().empty());
    }
  }
  SUBCASE("a pod of no Job") {
    cluster.make_pod("forged", {{"metadata", {{"name", "train-driver-0"}, {"uid", "other"}}}});
    cluster.report("forged", "1");
    CHECK(cluster.settle().empty());
  }
  SUBCASE("a pod whose controller only has the uid of a Job") {
    cluster.make_pod("forged", cluster.get(kJobs, "train-driver-0"));
    cluster.edit(kInPlacePods, "forged", [](json& pod) { pod["metadata"]["ownerReferences"][0]["kind"] = "CronJob"; });
    cluster.report("forged", "1");
    CHECK(cluster.settle().empty());
  }
  SUBCASE("a pod that is being deleted") {
    cluster.report("train-driver-0-0", "1");
    cluster.patch(kInPlacePods, "train-driver-0-0", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}});
    CHECK(cluster.settle().empty());
  }
  SUBCASE("an attempt that is over") {
    cluster.report_all("1");
    cluster.settle();
    cluster.report_all("0");
    CHECK(cluster.settle().empty());
    CHECK(cluster.current() == 1);
  }
  SUBCASE("a pod too many keeps the barrier closed and begins nothing") {
    cluster.make_pod("forged", cluster.get(kJobs, "train-driver-0"));
    cluster.report("forged", "0");
    CHECK(cluster.settle().empty());
  }
  CHECK(cluster.condition("Failed").empty());
}

TEST_CASE("in-place restart: only pods of such JobSets have the label of its watch") {
  InPlaceCluster cluster;
  CHECK(cluster.get(kJobs,
                    "train-workers-0")["spec"]["template"]["metadata"]["labels"]["muster.batch/in-place-restart"] ==
        "true");
  JobSetCluster other;
  other.settle();
  CHECK_FALSE(other.get(kJobs, "train-workers-0")["spec"]["template"]["metadata"]["labels"].contains(
      "muster.batch/in-place-restart"));
}

TEST_CASE("in-place restart: the user is told of Jobs whose pods muster does not see") {
  InPlaceCluster cluster = started();
  CHECK(cluster.reconcile().events.empty());
  cluster.edit(kJobs, "train-workers-1",
               [](json& job) { job["metadata"]["labels"].erase("muster.batch/in-place-restart"); });
  const Plan plan = cluster.reconcile();
  REQUIRE(plan.events.size() == 1);
  CHECK(plan.events[0].reason == "InPlaceRestartUnavailable");
  CHECK(plan.events[0].note.starts_with("Job team-a/train-workers-1 was created by another controller"));
}

TEST_CASE("in-place restart: a pod is news for its JobSet") {
  const InPlaceCluster cluster;
  std::vector<ObjectKey> keys;
  const TypedObject pod = read_object(kInPlacePods, cluster.get(kInPlacePods, "train-driver-0-0"));
  CHECK(type_of(pod) == kInPlacePods);
  jobset_reconciler.requests_for(cluster.state, pod, keys);
  CHECK(keys == std::vector<ObjectKey>{{&kJobSets, test::kNs, "train"}});
}

}  // namespace jobset_in_place_test
