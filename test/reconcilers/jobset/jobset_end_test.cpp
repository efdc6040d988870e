// The end of a JobSet: its terminal state, the Jobs that are left, its time to live.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/jobset/jobset.h"
#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_end_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace std::chrono_literals;
using namespace muster::test;

TEST_CASE("jobset: it completes when the Jobs have and is done with") {
  JobSetCluster cluster = running();
  cluster.complete("train-driver-0");
  cluster.settle();
  CHECK(cluster.counts("driver") == "succeeded=1");
  cluster.complete("train-workers-0");
  cluster.complete("train-workers-1");
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  CHECK(cluster.condition("Completed") == "True AllJobsCompleted");
  CHECK(cluster.status()["terminalState"] == "Completed");
  CHECK(cluster.counts("workers") == "succeeded=2");
  REQUIRE(cluster.events.size() == 1);
  CHECK(cluster.events[0].reason == "AllJobsCompleted");
  CHECK(cluster.events[0].note == "jobset completed successfully");
  CHECK(cluster.events[0].regarding.uid == "train-uid");

  cluster.vanish(kJobs, "train-workers-0");
  CHECK(cluster.settle().empty());
}

TEST_CASE("jobset: Jobs that still run when it ends are deleted") {
  JobSetCluster cluster =
      running({{"successPolicy", {{"operator", "Any"}, {"targetReplicatedJobs", json::array({"driver"})}}}});
  cluster.complete("train-driver-0");
  CHECK(cluster.settle() ==
        Texts{"status jobsets/train", "delete jobs/train-workers-0", "delete jobs/train-workers-1"});
  CHECK(cluster.counts("workers") == "");
  cluster.collect_garbage();
  CHECK(cluster.settle().empty());
  CHECK(cluster.jobs() == Texts{"train-driver-0"});
}

TEST_CASE("jobset: without a failure policy a failed Job fails it") {
  JobSetCluster cluster = running();
  cluster.fail("train-workers-1");
  CHECK(cluster.settle() == Texts{"status jobsets/train", "delete jobs/train-driver-0", "delete jobs/train-workers-0"});
  CHECK(cluster.condition("Failed") == "True FailedJobs");
  CHECK(cluster.status()["terminalState"] == "Failed");
  CHECK(cluster.status()["conditions"][0]["message"] ==
        "jobset failed due to one or more job failures (first failed job: train-workers-1)");
  REQUIRE(cluster.events.size() == 1);
  CHECK(cluster.events[0].type == kWarningEvent);
}

TEST_CASE("jobset: a finished one is deleted when its time to live is over") {
  JobSetCluster cluster = running({{"ttlSecondsAfterFinished", 60}});
  cluster.complete_all();
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  const Plan waiting = cluster.reconcile();
  REQUIRE(waiting.again_at.has_value());
  CHECK(*waiting.again_at == cluster.now().wall + 60s);
  cluster.pass(59s);
  CHECK(cluster.reconcile().writes.empty());
  cluster.pass(1s);
  const Plan plan = cluster.reconcile();
  REQUIRE(JobSetCluster::texts(plan) == Texts{"delete jobsets/train"});
  CHECK(plan.writes[0].propagation == Propagation::kForeground);
  CHECK(plan.writes[0].uid == "train-uid");
  cluster.apply(plan);
  CHECK(cluster.settle().empty());
}

TEST_CASE("jobset: its end is measured once") {
  for (const bool success : {true, false}) {
    JobSetCluster cluster = running();
    if (success) {
      cluster.complete_all();
    } else {
      cluster.fail("train-driver-0");
    }
    std::vector<Measurement> measured;
    for (int rounds = 0; rounds < 4; ++rounds) {
      const Plan plan = cluster.reconcile();
      for (const Write& write : plan.writes)
        measured.insert(measured.end(), write.measurements.begin(), write.measurements.end());
      cluster.apply(plan);
    }
    REQUIRE(measured.size() == 1);
    CHECK(measured[0] == Measurement{.what = success ? Measured::kJobSetCompleted : Measured::kJobSetFailed,
                                     .ns = "team-a",
                                     .jobset = "train"});
  }
}

}  // namespace jobset_end_test
