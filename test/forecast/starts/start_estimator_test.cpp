// Estimates of starts, from objects as the engine has them.
#include "forecast/starts/start_estimator.h"

#include <doctest/doctest.h>

#include "scheduler/eligibility.h"
#include "test/forecast/starts/starts_cluster.h"

namespace start_estimator_test {

using namespace muster;
using namespace muster::test;

TEST_CASE("starts: one waits for another whose maximum execution time is known") {
  StartsCluster cluster;
  cluster.put(kWorkloads, cluster.running("first", 4, 100, {{"maximumExecutionTimeSeconds", 700}}));
  cluster.put(kWorkloads, cluster.workload("second", 4, 50));
  const auto estimate = cluster.estimate("second");
  REQUIRE(estimate);
  CHECK(estimate->outcome == StartOutcome::kRange);
  CHECK(cluster.seconds_until(estimate->earliest) >= 0);
  CHECK(cluster.seconds_until(estimate->earliest) < 200);
  CHECK(cluster.seconds_until(estimate->latest) > 400);
  CHECK(cluster.seconds_until(estimate->latest) <= 600);
  CHECK(to_words(estimate->basis) == "maximum execution times");
  CHECK_FALSE(cluster.estimate("first"));
  CHECK_FALSE(cluster.estimate("nobody"));
}

TEST_CASE("starts: the same scene gives the same estimates, another seed others") {
  StartsCluster cluster;
  cluster.put(kWorkloads, cluster.running("first", 4, 100, {{"maximumExecutionTimeSeconds", 70'000}}));
  cluster.put(kWorkloads, cluster.workload("second", 4, 50));
  CHECK(*cluster.estimate("second") == *cluster.estimate("second"));
  CHECK_FALSE(*cluster.estimate("second") == *cluster.estimate("second", {.seed = 2}));
}

TEST_CASE("starts: who stands further behind starts later, and the history of the queue is the basis") {
  StartsCluster cluster;
  cluster.observe(37, 600);
  cluster.put(kWorkloads, cluster.running("first", 4, 0));
  for (int i = 1; i <= 5; ++i) cluster.put(kWorkloads, cluster.workload("w" + std::to_string(i), 4, 100 - i));
  Timestamp last{};
  for (int i = 1; i <= 5; ++i) {
    const auto estimate = cluster.estimate("w" + std::to_string(i));
    REQUIRE(estimate);
    REQUIRE(estimate->outcome == StartOutcome::kRange);
    CHECK(estimate->earliest <= estimate->latest);
    CHECK(estimate->latest > last);
    last = estimate->latest;
    CHECK(to_words(estimate->basis) == "37 finished Workloads of this LocalQueue");
  }
  CHECK(cluster.seconds_until(last) > 4 * 600);
}

TEST_CASE("starts: without any run time nothing is said, and what can never start is told apart") {
  StartsCluster cluster;
  cluster.put(kWorkloads, cluster.running("first", 4, 100));
  cluster.put(kWorkloads, cluster.workload("second", 4, 50));
  CHECK(cluster.estimate("second")->outcome == StartOutcome::kRunTimesUnknown);
  cluster.observe(5, 60);
  cluster.put(kWorkloads, cluster.workload("large", 5, 60));
  CHECK(cluster.estimate("large")->outcome == StartOutcome::kNoStart);
  CHECK(cluster.estimate("second")->outcome == StartOutcome::kRange);
}

TEST_CASE("starts: what was refused for good does not start, also where others come all the time") {
  StartsCluster cluster;
  cluster.observe(20, 600);
  cluster.history.arrivals.begin(to_timestamp(cluster.now().wall - std::chrono::hours(1)));
  cluster.history.arrivals.note(read_workload(cluster.workload("past", 1, 1800)), to_timestamp(cluster.now().wall));
  json large = cluster.workload("large", 5, 60);
  large["status"]["conditions"] =
      json::array({condition_at(cluster.ago(50), "QuotaReserved", "False", "ExceedsMaxQuota")});
  cluster.put(kWorkloads, large);
  CHECK(cluster.estimate("large")->outcome == StartOutcome::kNoStart);
}

TEST_CASE("starts: a stopped ClusterQueue starts nothing, whatever is known of run times") {
  StartsCluster cluster(json{{"stopPolicy", "Hold"}});
  cluster.put(kWorkloads, cluster.workload("second", 1, 50));
  CHECK(cluster.estimate("second")->outcome == StartOutcome::kNoStart);
}

TEST_CASE("starts: a preemptor starts when its victims have stopped, and they begin again") {
  StartsCluster cluster(json{{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  cluster.observe(20, 600);
  cluster.put(kWorkloads, cluster.running("victim", 4, 100));
  cluster.put(kWorkloads, cluster.workload("waits", 4, 60));
  cluster.put(kWorkloads, cluster.workload("preemptor", 4, 50, {{"priority", 100}}));
  const auto first = cluster.estimate("preemptor"), second = cluster.estimate("waits");
  REQUIRE(first->outcome == StartOutcome::kRange);
  CHECK(cluster.seconds_until(first->earliest) == 10);
  CHECK(cluster.seconds_until(first->latest) == 10);
  // It runs first, and then the victim again, which is older.
  REQUIRE(second->outcome == StartOutcome::kRange);
  CHECK(cluster.seconds_until(second->earliest) > 620);
}

TEST_CASE("starts: what backs off comes when its time is there") {
  StartsCluster cluster;
  json waits = cluster.workload("late", 1, 50);
  waits["status"] = {{"requeueState", {{"count", 1}, {"requeueAt", cluster.ago(-300)}}}};
  cluster.put(kWorkloads, waits);
  const auto estimate = cluster.estimate("late");
  REQUIRE(estimate->outcome == StartOutcome::kRange);
  CHECK(cluster.seconds_until(estimate->earliest) == 300);
}

TEST_CASE("starts: those that come with a higher priority are counted in as often as they came") {
  const auto latest = [](bool others) {
    StartsCluster cluster;
    cluster.observe(20, 600);
    cluster.history.arrivals.begin(to_timestamp(cluster.now().wall - std::chrono::hours(1)));
    for (int i = 0; others && i < 3; ++i)
      cluster.history.arrivals.note(
          read_workload(cluster.workload("past" + std::to_string(i), 4, 3000 - 1000 * i, {{"priority", 100}})),
          to_timestamp(cluster.now().wall));
    cluster.put(kWorkloads, cluster.running("first", 4, 0));
    cluster.put(kWorkloads, cluster.workload("waits", 4, 50));
    const auto estimate = cluster.estimate("waits");
    REQUIRE(estimate->outcome == StartOutcome::kRange);
    return cluster.seconds_until(estimate->latest);
  };
  CHECK(latest(true) > latest(false) + 600);
}

TEST_CASE("starts: a tenant's annotation of ten years does not take the others' estimates away") {
  StartsCluster cluster;
  cluster.observe(20, 600);
  json liar = cluster.running("liar", 4, 0);
  liar["metadata"]["annotations"] = {{"simulate.muster.batch/run-time", "87600h"}};
  cluster.put(kWorkloads, liar);
  cluster.put(kWorkloads, cluster.workload("waits", 4, 50));
  const auto estimate = cluster.estimate("waits");
  REQUIRE(estimate->outcome == StartOutcome::kRange);
  CHECK(cluster.seconds_until(estimate->latest) < 20 * 600);
  CHECK(estimate->basis.annotations);
}

TEST_CASE("starts: with too many Workloads the first ones of each queue are simulated, and the rest is told so") {
  StartsCluster cluster;
  cluster.observe(20, 600);
  cluster.put(kWorkloads, cluster.running("first", 4, 0));
  for (int i = 0; i < 30; ++i) cluster.put(kWorkloads, cluster.workload("w" + std::to_string(100 + i), 4, 100 - i));
  const StartEstimates all = cluster.estimates({.most_workloads = 10});
  CHECK(all.by_path.size() == 30);
  CHECK(all.find("team-a", "w109")->outcome == StartOutcome::kRange);
  CHECK(all.find("team-a", "w110")->outcome == StartOutcome::kNotSimulated);
}

TEST_CASE("starts: work has a bound, and what it does not reach is beyond the horizon") {
  StartsCluster cluster;
  cluster.observe(20, 600);
  cluster.put(kWorkloads, cluster.running("first", 4, 0));
  for (int i = 0; i < 500; ++i) cluster.put(kWorkloads, cluster.workload("w" + std::to_string(1000 + i), 4, 1000 - i));
  double asked = 0;
  const StartEstimates all = cluster.estimates({.cpu_seconds = [&] { return asked += 0.1; }, .budget = 4});
  CHECK(asked < 10);
  CHECK(all.find("team-a", "w1000")->outcome == StartOutcome::kRange);
  const StartEstimate* last = all.find("team-a", "w1499");
  CHECK(last->outcome == StartOutcome::kBeyondHorizon);
  CHECK(last->earliest > all.at);
}

}  // namespace start_estimator_test
