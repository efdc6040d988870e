// Restarts of a whole JobSet: how often, in which order, and the condition that tells of them.
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "reconcilers/jobset/jobset.h"
#include "test/reconcilers/jobset/running_jobset.h"

namespace jobset_restart_test {

using namespace muster;
using namespace std::chrono_literals;
using namespace muster::test;

TEST_CASE("jobset: it restarts as often as it may and then fails") {
  JobSetCluster cluster = running(restarting(1));
  cluster.fail("train-workers-1");
  const Texts expected = {"status jobsets/train", "delete jobs/train-driver-0", "delete jobs/train-workers-0",
                          "delete jobs/train-workers-1"};
  CHECK(cluster.settle() == expected);
  CHECK(cluster.status()["restarts"] == 1);
  CHECK(cluster.status()["restartsCountTowardsMax"] == 1);
  CHECK(cluster.counts("driver") == "");
  CHECK(cluster.counts("workers") == "");
  REQUIRE(cluster.events.size() >= 2);
  CHECK(cluster.events[cluster.events.size() - 2].reason == "DefaultFailurePolicy");  // of the condition
  CHECK(cluster.events.back().reason == "RestartJobSetFailurePolicyAction");

  cluster.collect_garbage();
  CHECK(cluster.settle() == Texts(kCreateAll.begin() + 1, kCreateAll.end()));
  CHECK(cluster.get(kJobs, "train-driver-0")["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1");
  cluster.run_all();
  CHECK(cluster.settle() == Texts{"status jobsets/train"});
  cluster.fail("train-driver-0");
  cluster.settle();
  CHECK(cluster.condition("Failed") == "True ReachedMaxRestarts");
  CHECK(cluster.status()["restarts"] == 1);
}

TEST_CASE("jobset: a restart replaces Jobs as they go or waits until all have gone") {
  struct Row {
    std::string name;
    const char* strategy;
    Texts after_one_has_gone;
  };
  const Row rows[] = {
      {"Recreate", "Recreate", {"create jobs/train-workers-0"}},
      {"BlockingRecreate", "BlockingRecreate", {}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    JobSetCluster cluster = running(restarting(3, row.strategy));
    cluster.fail("train-workers-1");
    cluster.settle();
    cluster.vanish(kJobs, "train-workers-0");
    CHECK(cluster.settle() == row.after_one_has_gone);
    cluster.collect_garbage();
    cluster.settle();
    CHECK(cluster.jobs().size() == 3);
  }
}

TEST_CASE("jobset: a restart is a condition until all Jobs are ready or the JobSet ends") {
  const auto restarted = [](json policy) {
    JobSetCluster cluster = running({{"failurePolicy", std::move(policy)}});
    cluster.fail("train-workers-1");
    cluster.settle();
    cluster.collect_garbage();
    cluster.settle();
    return cluster;
  };
  const json named = {{"maxRestarts", 9}, {"rules", {{{"name", "host"}, {"action", "RestartJobSet"}}}}};
  const json ignoring = {{"maxRestarts", 1}, {"rules", {{{"action", "RestartJobSetAndIgnoreMaxRestarts"}}}}};
  CHECK(restarted({{"maxRestarts", 1}}).condition("RestartingJobSet") == "True DefaultFailurePolicy");
  CHECK(restarted(named).condition("RestartingJobSet") == "True FailurePolicy_host");
  CHECK(restarted(ignoring).condition("RestartingJobSet") == "True FailurePolicy_failurePolicyRule0");

  JobSetCluster ready = restarted({{"maxRestarts", 1}});
  ready.run("train-driver-0");
  ready.run("train-workers-0");
  ready.settle();
  CHECK(ready.condition("RestartingJobSet") == "True DefaultFailurePolicy");
  ready.run("train-workers-1");
  ready.settle();
  CHECK(ready.condition("RestartingJobSet") == "False JobsReady");
  CHECK(ready.events.back().reason == "JobsReady");
  CHECK(ready.events.back().note == "all jobs are ready");
  // The condition also says how a JobSet ended that had restarted before.
  ready.complete_all();
  ready.settle();
  CHECK(ready.condition("RestartingJobSet") == "False JobSetCompleted");
  CHECK(ready.events.back().reason == "JobSetCompleted");
  CHECK(ready.events.back().note == "jobset completed successfully");

  JobSetCluster failed = restarted({{"maxRestarts", 1}});
  failed.fail("train-workers-0");
  failed.settle();
  CHECK(failed.condition("RestartingJobSet") == "False JobSetFailed");

  JobSetCluster completed = restarted({{"maxRestarts", 1}});
  completed.complete_all();
  completed.settle();
  CHECK(completed.condition("RestartingJobSet") == "False JobSetCompleted");

  JobSetCluster suspended = restarted({{"maxRestarts", 1}});
  suspended.patch(kJobSets, "train", {{"spec", {{"suspend", true}}}});
  suspended.settle();
  CHECK(suspended.condition("RestartingJobSet") == "False JobSetSuspended");
}

TEST_CASE("jobset: a second restart before the first is over keeps the time of the first") {
  JobSetCluster cluster = running({{"failurePolicy", {{"maxRestarts", 9}}}});
  const auto condition = [&] {
    const json status = cluster.status();
    for (const json& each : status["conditions"]) {
      if (each["type"] == "RestartingJobSet") return each;
    }
    return json();
  };
  cluster.fail("train-workers-1");
  cluster.settle();
  const json first = condition();
  cluster.collect_garbage();
  cluster.settle();
  cluster.pass(5s);
  cluster.fail("train-driver-0");
  cluster.settle();
  CHECK(cluster.status()["restarts"] == 2);
  CHECK(condition()["lastTransitionTime"] == first["lastTransitionTime"]);
  CHECK(condition()["message"] != first["message"]);
}

}  // namespace jobset_restart_test
