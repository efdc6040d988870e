// What is measured of queues and Workloads while the real reconcilers and the scheduler
// work in an engine: counted when it has happened, and gauges as the state is.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "state/metrics/queue_gauges.h"
#include "test/engine/served_engine.h"
#include "test/support/measurements.h"

namespace queue_metrics_test {

using namespace muster;
using namespace muster::engine;
using muster::test::ServedEngine;
using muster::test::to_texts;
using nlohmann::json;

namespace {

using Texts = std::vector<std::string>;

// Without the attempts.
Texts happened(const std::vector<Measurement>& measured) {
  std::vector<Measurement> rest;
  for (const Measurement& measurement : measured) {
    if (measurement.what != Measured::kAdmissionAttempt) rest.push_back(measurement);
  }
  return to_texts(rest);
}

Texts attempts(const std::vector<Measurement>& measured) {
  Texts results;
  for (const Measurement& measurement : measured) {
    if (measurement.what == Measured::kAdmissionAttempt) results.push_back(measurement.reason);
  }
  return results;
}

// "cq active = 1".
std::map<Gauge, Texts> gauges_of(const ServedEngine& served, const QueueSettings& settings) {
  std::map<Gauge, Texts> texts;
  for (const GaugeReading& reading : state::queue_gauges(served.engine.state(), served.engine.decisions(), settings)) {
    std::ostringstream text;
    for (const GaugeLabel& label : reading.labels) text << (label.value.empty() ? "-" : label.value) << " ";
    text << "= " << reading.value;
    texts[reading.gauge].push_back(text.str());
  }
  for (auto& [gauge, lines] : texts) std::sort(lines.begin(), lines.end());
  return texts;
}

}  // namespace

TEST_CASE("metrics: an admission is counted once and only when it is written") {
  ServedEngine served;
  served.put_queues("4");
  served.put_workload("a", "1");
  served.pass(std::chrono::seconds(3));
  served.plan();
  CHECK(attempts(served.measured) == Texts{"success"});
  // A queue's status is written, too.
  const auto admission = [&] {
    const auto found = std::find_if(served.writes.begin(), served.writes.end(),
                                    [](const Command& command) { return *command.write.target.type == kWorkloads; });
    REQUIRE(found != served.writes.end());
    const Command command = *found;
    served.writes.erase(found);
    return command;
  };
  served.answer(admission(), reconcilers::WriteOutcome::kConflict);
  served.pass(std::chrono::seconds(2));
  served.plan();
  CHECK(happened(served.measured).empty());
  served.answer(admission());
  served.settle();
  CHECK(happened(served.measured) == Texts{"QuotaReserved cq team-a/lq 5s", "Admitted cq team-a/lq 5s"});
}

TEST_CASE("metrics: an attempt is every batch after which a Workload was looked at") {
  ServedEngine served;
  served.put_queues("4");
  CHECK(attempts(served.measured).empty());
  served.put_workload("a", "3");
  served.settle();
  CHECK(attempts(std::exchange(served.measured, {})) == Texts{"success"});
  served.put_workload("b", "3");
  served.settle();
  CHECK(attempts(std::exchange(served.measured, {})) == Texts{"inadmissible"});
  served.plan();
  CHECK(served.measured.empty());
}

TEST_CASE("metrics: a preemption counts for the queue that needs the quota") {
  ServedEngine served;
  served.put_queues("4", {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  served.put_workload("low", "3");
  served.settle();
  served.measured.clear();
  served.put_workload("high", "3", {{"priority", 10}});
  served.settle();
  CHECK(served.condition_of("low", "Evicted") == "True Preempted");
  CHECK(happened(served.measured) ==
        Texts{"Evicted cq team-a/lq Preempted", "EvictedFirst cq team-a/lq Preempted", "Preempted cq InClusterQueue"});
}

TEST_CASE("metrics: the end of a queue is told on every replica") {
  ServedEngine served;
  served.put_queues("4", {{"cohortName", "team"}});
  served.engine.apply(LeadershipChanged{false}, served.now());
  served.vanish(kLocalQueues, "lq");
  served.vanish(kClusterQueues, "cq");
  served.plan();
  CHECK(to_texts(served.measured) == Texts{"LocalQueueGone team-a/lq", "ClusterQueueGone cq", "CohortGone ^team"});
}

TEST_CASE("metrics: the share of a Cohort of weight 0 that borrows is not a number") {
  ServedEngine served;
  served.put_queues("1", {{"cohortName", "team"}});
  served.put(kCohorts, "team", {{"spec", {{"parentName", "company"}, {"fairSharing", {{"weight", "0"}}}}}});
  served.put_cluster_queue("other", "9", {{"cohortName", "company"}});
  QueueSettings settings = served.engine.queue_settings();
  settings.fair_sharing = {FairStrategy::kLessThanInitialShare};
  served.settle();
  CHECK(gauges_of(served, settings)[Gauge::kCohortShare] == Texts{"company = 0", "team = 0"});
  served.put_workload("a", "5");
  served.settle();
  REQUIRE(served.condition_of("a", "Admitted") == "True Admitted");
  CHECK(gauges_of(served, settings)[Gauge::kCohortShare] == Texts{"company = 0", "team = nan"});
}

TEST_CASE("metrics: gauges show queues and Cohorts as they are") {
  ServedEngine served;
  served.put_queues("4", {{"cohortName", "team"}});
  served.put(kCohorts, "team", {{"spec", {{"parentName", "company"}}}});
  served.put_cluster_queue("other", "2", {{"cohortName", "team"}});
  served.put_cluster_queue("stopped", "1500m", {{"stopPolicy", "Hold"}});
  served.put(kLocalQueues, "held", {{"spec", {{"clusterQueue", "stopped"}}}});
  served.put_workload("a", "5");
  served.put_workload("b", "7");
  served.put_workload("c", "1500m", {{"queueName", "held"}});
  served.put_workload("d", "1", {{"queueName", "nowhere"}});
  served.put_workload("e", "1", {{"queueName", "elsewhere"}});
  served.put_workload("f", "1", {{"active", false}});
  const json finished = {{"type", "Finished"}, {"status", "True"}, {"reason", "Succeeded"}};
  served.put_workload("g", "1", json::object(), {{"conditions", json::array({finished})}});
  served.settle();
  served.pass(std::chrono::seconds(2));
  served.settle();
  REQUIRE(served.condition_of("a", "Admitted") == "True Admitted");
  REQUIRE(served.condition_of("b", "QuotaReserved") == "False ExceedsMaxQuota");

  QueueSettings settings = served.engine.queue_settings();
  settings.fair_sharing = {FairStrategy::kLessThanInitialShare};
  settings.metrics.cluster_queue_resources = true;
  auto gauges = gauges_of(served, settings);
  struct Row {
    const char* name;
    Gauge gauge;
    Texts lines;
  };
  const Row rows[] = {
      {"pending",
       Gauge::kPendingWorkloads,
       {"cq active = 0", "cq inadmissible = 1", "other active = 0", "other inadmissible = 0", "stopped active = 0",
        "stopped inadmissible = 1"}},
      {"reserving", Gauge::kReservingWorkloads, {"cq = 1", "other = 0", "stopped = 0"}},
      {"admitted", Gauge::kAdmittedWorkloads, {"cq = 1", "other = 0", "stopped = 0"}},
      {"finished", Gauge::kFinishedWorkloads, {"cq = 1", "other = 0", "stopped = 0"}},
      {"unadmitted",
       Gauge::kUnadmittedWorkloads,
       {"- NoReservation Misconfigured = 2", "cq NoReservation Deactivated = 1", "cq NoReservation ExceedsMaxQuota = 1",
        "stopped NoReservation Suspended = 1"}},
      {"status",
       Gauge::kClusterQueueStatus,
       {"cq active = 1", "cq pending = 0", "cq terminating = 0", "other active = 1", "other pending = 0",
        "other terminating = 0", "stopped active = 0", "stopped pending = 1", "stopped terminating = 0"}},
      {"place of a ClusterQueue",
       Gauge::kClusterQueueInfo,
       {"cq team company - = 1", "other team company - = 1", "stopped - - - = 1"}},
      {"preemptors that were skipped", Gauge::kPreemptionSkips, {"cq = 0", "other = 0", "stopped = 0"}},
      // 1 of 6 lendable cpus.
      {"share", Gauge::kClusterQueueShare, {"cq team = 166.667", "other team = 0", "stopped - = 0"}},
      {"reservation",
       Gauge::kResourceReservation,
       {"- stopped f cpu = 0", "team cq f cpu = 5", "team other f cpu = 0"}},
      {"usage", Gauge::kResourceUsage, {"- stopped f cpu = 0", "team cq f cpu = 5", "team other f cpu = 0"}},
      {"nominal quota", Gauge::kNominalQuota, {"- stopped f cpu = 1.5", "team cq f cpu = 4", "team other f cpu = 2"}},
      {"borrowing limit",
       Gauge::kBorrowingLimit,
       {"- stopped f cpu = inf", "team cq f cpu = inf", "team other f cpu = inf"}},
      {"lending limit",
       Gauge::kLendingLimit,
       {"- stopped f cpu = inf", "team cq f cpu = inf", "team other f cpu = inf"}},
      {"requests that wait", Gauge::kResourcePending, {"cq cpu = 7", "other cpu = 0", "stopped cpu = 1.5"}},
      {"place of a Cohort", Gauge::kCohortInfo, {"company - company - = 1", "team company company - = 1"}},
      {"share of a Cohort", Gauge::kCohortShare, {"company = 0", "team = 0"}},
      {"quota of a Cohort", Gauge::kCohortQuota, {"company f cpu = 6", "team f cpu = 6"}},
      {"reservations of a Cohort", Gauge::kCohortReservations, {"company f cpu = 5", "team f cpu = 5"}},
      {"admitted in a Cohort", Gauge::kCohortAdmitted, {"company = 1", "team = 1"}},
      {"pending in a Cohort",
       Gauge::kCohortPending,
       {"company active = 0", "company inadmissible = 1", "team active = 0", "team inadmissible = 1"}},
      {"pending by LocalQueue",
       Gauge::kLocalPendingWorkloads,
       {"held team-a active = 0", "held team-a inadmissible = 1", "lq team-a active = 0",
        "lq team-a inadmissible = 1"}},
      {"reserving by LocalQueue", Gauge::kLocalReservingWorkloads, {"held team-a = 0", "lq team-a = 1"}},
      {"admitted by LocalQueue", Gauge::kLocalAdmittedWorkloads, {"held team-a = 0", "lq team-a = 1"}},
      {"finished by LocalQueue", Gauge::kLocalFinishedWorkloads, {"held team-a = 0", "lq team-a = 1"}},
      {"unadmitted by LocalQueue",
       Gauge::kLocalUnadmittedWorkloads,
       {"held team-a stopped NoReservation Suspended = 1", "lq team-a cq NoReservation Deactivated = 1",
        "lq team-a cq NoReservation ExceedsMaxQuota = 1"}},
      {"status of a LocalQueue",
       Gauge::kLocalQueueStatus,
       {"held team-a False = 1", "held team-a True = 0", "held team-a Unknown = 0", "lq team-a False = 0",
        "lq team-a True = 1", "lq team-a Unknown = 0"}},
      {"reservation by LocalQueue", Gauge::kLocalResourceReservation, {"held team-a f cpu = 0", "lq team-a f cpu = 5"}},
      {"usage by LocalQueue", Gauge::kLocalResourceUsage, {"held team-a f cpu = 0", "lq team-a f cpu = 5"}},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    CHECK(gauges[row.gauge] == row.lines);
    gauges.erase(row.gauge);
  }
  CHECK(gauges.empty());
}

TEST_CASE("metrics: settings and gates take their gauges away") {
  ServedEngine served;
  served.put_queues("4", {{"cohortName", "team"}});
  served.put_workload("a", "5");
  served.settle();
  struct Row {
    const char* name;
    void (*edit)(QueueSettings&);
    std::vector<Gauge> gone;
  };
  const std::vector<Gauge> local = {Gauge::kLocalPendingWorkloads,    Gauge::kLocalReservingWorkloads,
                                    Gauge::kLocalAdmittedWorkloads,   Gauge::kLocalFinishedWorkloads,
                                    Gauge::kLocalUnadmittedWorkloads, Gauge::kLocalQueueStatus,
                                    Gauge::kLocalResourceReservation, Gauge::kLocalResourceUsage};
  const Row rows[] = {
      {"nothing", [](QueueSettings&) {}, {}},
      {"resources of ClusterQueues",
       [](QueueSettings& s) { s.metrics.cluster_queue_resources = false; },
       {Gauge::kResourceReservation, Gauge::kResourceUsage, Gauge::kNominalQuota, Gauge::kBorrowingLimit,
        Gauge::kLendingLimit, Gauge::kResourcePending}},
      {"fair sharing",
       [](QueueSettings& s) { s.fair_sharing.clear(); },
       {Gauge::kClusterQueueShare, Gauge::kCohortShare}},
      {"LocalQueues", [](QueueSettings& s) { s.metrics.local_queues = false; }, local},
      {"LocalQueues by their selector", [](QueueSettings& s) { s.metrics.local_queue_selector = LabelSelector(); },
       local},
      {"LocalQueues by their gate",
       [](QueueSettings& s) { s.rules.feature_gates.set(Gate::kLocalQueueMetrics, false); }, local},
      {"Cohorts",
       [](QueueSettings& s) { s.rules.feature_gates.set(Gate::kMetricsForCohorts, false); },
       {Gauge::kClusterQueueInfo, Gauge::kCohortInfo, Gauge::kCohortShare, Gauge::kCohortQuota,
        Gauge::kCohortReservations, Gauge::kCohortAdmitted, Gauge::kCohortPending}},
      {"reasons",
       [](QueueSettings& s) { s.rules.feature_gates.set(Gate::kUnadmittedWorkloadsObservability, false); },
       {Gauge::kUnadmittedWorkloads, Gauge::kLocalUnadmittedWorkloads}},
  };
  QueueSettings all = served.engine.queue_settings();
  all.fair_sharing = {FairStrategy::kLessThanInitialShare};
  all.metrics.cluster_queue_resources = true;
  const auto shown = gauges_of(served, all);
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueSettings settings = all;
    row.edit(settings);
    auto expected = shown;
    for (const Gauge gauge : row.gone) CHECK(expected.erase(gauge) == 1);
    CHECK(gauges_of(served, settings) == expected);
  }
}

}  // namespace queue_metrics_test
