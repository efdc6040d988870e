#include "state/metrics/measurements.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/reconcilers/job/job_cluster.h"
#include "test/reconcilers/queues/queue_cluster.h"
#include "test/support/measurements.h"

namespace measurements_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// A condition that became so this many seconds after 12:00.
json condition(const char* type, bool is_true, int second, const char* reason = "R") {
  const std::string stamp = "2026-01-01T12:0" + std::to_string(second / 60) + (second % 60 < 10 ? ":0" : ":") +
                            std::to_string(second % 60) + "Z";
  return {{"type", type}, {"status", is_true ? "True" : "False"}, {"reason", reason}, {"lastTransitionTime", stamp}};
}

json with(json status, std::initializer_list<json> conditions) {
  status["conditions"] = json::array();
  for (const json& each : conditions) status["conditions"].push_back(each);
  return status;
}

// One line each, so that a failed check shows them.
std::string lines(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all.append(text).append("\n");
  return all;
}

// Created at 12:00, of the class "high".
WorkloadPtr workload_with(const json& status) {
  return read_workload(
      {{"metadata", {{"namespace", "team-a"}, {"name", "wl"}, {"creationTimestamp", "2026-01-01T12:00:00Z"}}},
       {"spec",
        {{"queueName", "lq"},
         {"priorityClassRef", {{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "high"}}},
         {"podSets", json::array()}}},
       {"status", status}});
}

const json kQueue = {{"admission", {{"clusterQueue", "cq"}}}};

json evicted(std::initializer_list<json> conditions, int count, const char* cause = "WaitForStart") {
  json status = with(kQueue, conditions);
  status["schedulingStats"]["evictions"] = {
      {{"reason", "PodsReadyTimeout"}, {"underlyingCause", cause}, {"count", count}}};
  return status;
}

}  // namespace

TEST_CASE("measurements: what the change of a Workload's status stands for") {
  const json reserved = condition("QuotaReserved", true, 10), admitted = condition("Admitted", true, 15);
  const json released = condition("QuotaReserved", false, 90), stopped = condition("Evicted", true, 70, "Preempted");
  const std::string who = " cq team-a/lq class=high";
  struct Row {
    const char* name;
    json before, after;
    Texts measured;
  };
  json with_check = with(kQueue, {reserved, admitted});
  with_check["admissionChecks"] = {{{"name", "c"}, {"state", "Ready"}}};
  json ran_before = with(kQueue, {reserved, admitted, condition("Finished", true, 75)});
  ran_before["accumulatedPastExecutionTimeSeconds"] = 100;
  const Row rows[] = {
      {"nothing of note", json::object(), with(json::object(), {released}), {}},
      {"quota is reserved", json::object(), with(kQueue, {reserved}), {"QuotaReserved" + who + " 10s"}},
      {"quota is reserved after a backoff",
       with(json::object(), {condition("Requeued", true, 7)}),
       with(kQueue, {reserved, condition("Requeued", true, 7)}),
       {"QuotaReserved" + who + " 3s"}},
      {"admitted at once",
       json::object(),
       with(kQueue, {condition("QuotaReserved", true, 15), admitted}),
       {"QuotaReserved" + who + " 15s", "Admitted" + who + " 15s"}},
      {"admitted after its checks",
       with(kQueue, {reserved}),
       with_check,
       {"Admitted" + who + " 15s", "ChecksPassed" + who + " 5s"}},
      {"still admitted", with(kQueue, {reserved, admitted}), with(kQueue, {reserved, admitted, stopped}), {}},
      {"its pods are ready",
       with(kQueue, {reserved, admitted}),
       with(kQueue, {reserved, admitted, condition("PodsReady", true, 35)}),
       {"Ready" + who + " 35s", "ReadySinceAdmitted" + who + " 20s"}},
      {"its pods are ready again",
       with(kQueue, {reserved, admitted, condition("PodsReady", false, 40, "WaitForRecovery")}),
       with(kQueue, {reserved, admitted, condition("PodsReady", true, 52, "Recovered")}),
       {"Recovered" + who + " 12s"}},
      {"the next part of a job that starts in stages is ready",
       with(kQueue, {reserved, admitted, condition("PodsReady", false, 40, "WaitForNextPart")}),
       with(kQueue, {reserved, admitted, condition("PodsReady", true, 52)}),
       {}},
      {"evicted for the first time",
       with(kQueue, {reserved, admitted}),
       evicted({reserved, admitted, stopped}, 1),
       {"Evicted" + who + " PodsReadyTimeout/WaitForStart", "EvictedFirst" + who + " PodsReadyTimeout/WaitForStart"}},
      {"evicted again",
       evicted({reserved, admitted}, 1),
       evicted({reserved, admitted, stopped}, 2),
       {"Evicted" + who + " PodsReadyTimeout/WaitForStart"}},
      {"evicted for another cause",
       evicted({reserved, admitted}, 1),
       evicted({reserved, admitted, stopped}, 1, "WaitForRecovery"),
       {"Evicted" + who + " PodsReadyTimeout/WaitForRecovery",
        "EvictedFirst" + who + " PodsReadyTimeout/WaitForRecovery"}},
      {"evicted while its pods were ready",
       evicted({reserved, admitted, condition("PodsReady", true, 35)}, 1),
       evicted({reserved, admitted, condition("PodsReady", true, 35), stopped}, 2),
       {"Evicted" + who + " PodsReadyTimeout/WaitForStart",
        "EvictedWhileReady" + who + " PodsReadyTimeout/WaitForStart 35s"}},
      {"who holds nothing is not evicted",
       json::object(),
       [&] {
         json status = evicted({stopped}, 1);
         status.erase("admission");
         return status;
       }(),
       {}},
      {"stopped after its eviction",
       with(kQueue, {reserved, admitted, stopped}),
       with(json::object(), {released, condition("Admitted", false, 90), stopped}),
       {"EvictionOver" + who + " Preempted 20s"}},
      {"a reservation that was never used", with(kQueue, {reserved}), with(json::object(), {released}), {}},
      {"finished",
       with(kQueue, {reserved, admitted}),
       with(kQueue, {reserved, admitted, condition("Finished", true, 75)}),
       {"Finished" + who, "Executed" + who + " 60s"}},
      {"finished after more than one admission",
       with(kQueue, {reserved, admitted}),
       ran_before,
       {"Finished" + who, "Executed" + who + " 160s"}},
      {"finished without ever having run",
       json::object(),
       with(json::object(), {condition("Finished", true, 75)}),
       {"Finished team-a/lq class=high"}},
      {"still finished",
       with(kQueue, {condition("Finished", true, 75)}),
       with(kQueue, {condition("Finished", true, 75), released}),
       {}},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    const WorkloadPtr before = workload_with(row.before), after = workload_with(row.after);
    CHECK(lines(to_texts(measurements_of(*before, after->status))) == lines(row.measured));
  }
}

TEST_CASE("measurements: every way out of a Workload's reservation is measured") {
  struct Row {
    const char* name;
    std::function<void(QueueCluster&)> happens;
    Texts measured;
  };
  const auto check_in = [](const char* state) {
    return [state](QueueCluster& cluster) {
      cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "c"}}}}}}});
      cluster.patch(kWorkloads, "wl", {{"status", {{"admissionChecks", {{{"name", "c"}, {"state", state}}}}}}});
    };
  };
  const Row rows[] = {
      {"its pods were not ready in time",
       [](QueueCluster& cluster) { cluster.pass(minutes(5)); },
       {"Evicted cq team-a/lq PodsReadyTimeout/WaitForStart",
        "EvictedFirst cq team-a/lq PodsReadyTimeout/WaitForStart"}},
      {"a check wants another try",
       check_in("Retry"),
       {"Evicted cq team-a/lq AdmissionCheck", "EvictedFirst cq team-a/lq AdmissionCheck"}},
      {"its ClusterQueue is drained",
       [](QueueCluster& cluster) {
         cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "HoldAndDrain"}}}});
       },
       {"Evicted cq team-a/lq ClusterQueueStopped", "EvictedFirst cq team-a/lq ClusterQueueStopped"}},
      {"its LocalQueue is drained",
       [](QueueCluster& cluster) {
         cluster.patch(kLocalQueues, "lq", {{"spec", {{"stopPolicy", "HoldAndDrain"}}}});
       },
       {"Evicted cq team-a/lq LocalQueueStopped", "EvictedFirst cq team-a/lq LocalQueueStopped"}},
      {"somebody deactivates it",
       [](QueueCluster& cluster) {
         cluster.patch(kWorkloads, "wl", {{"spec", {{"active", false}}}});
       },
       {"Evicted cq team-a/lq Deactivated", "EvictedFirst cq team-a/lq Deactivated"}},
      {"it has run for as long as it may",
       [](QueueCluster& cluster) {
         cluster.patch(kWorkloads, "wl", {{"spec", {{"maximumExecutionTimeSeconds", 60}}}});
         cluster.pass(minutes(2));
       },
       {"Evicted cq team-a/lq Deactivated/MaximumExecutionTimeExceeded",
        "EvictedFirst cq team-a/lq Deactivated/MaximumExecutionTimeExceeded"}},
      {"a check refuses it",
       check_in("Rejected"),
       {"Evicted cq team-a/lq Deactivated/AdmissionCheck", "EvictedFirst cq team-a/lq Deactivated/AdmissionCheck"}},
      {"its owner is gone",
       [](QueueCluster& cluster) {
         cluster.patch(kWorkloads, "wl", {{"metadata", {{"labels", {{"kueue.x-k8s.io/job-uid", "u"}}}}}});
         cluster.pass(seconds(9));
       },
       {"Finished cq team-a/lq", "Executed cq team-a/lq 9s"}},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues();
    cluster.settings.queues.wait_for_pods_ready = WaitForPodsReady{};
    cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.admitted_status(seconds(0))));
    row.happens(cluster);
    cluster.settle();
    CHECK(lines(to_texts(cluster.measurements)) == lines(row.measured));
  }
}

TEST_CASE("measurements: admission after checks is measured with its write") {
  QueueCluster cluster;
  cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "c"}}}}}}});
  json status = cluster.reserved_status(seconds(40));
  status["admissionChecks"] = {{{"name", "c"}, {"state", "Ready"}}};
  json workload = QueueCluster::workload(json::object(), status);
  workload["metadata"]["creationTimestamp"] = cluster.stamp(-minutes(2));
  cluster.put(kWorkloads, "wl", workload);
  cluster.settle();
  CHECK(to_texts(cluster.measurements) == Texts{"Admitted cq team-a/lq 120s", "ChecksPassed cq team-a/lq 40s"});
}

TEST_CASE("measurements: no time is counted from one that is not set") {
  const auto before = read_workload({{"metadata", {{"namespace", "team-a"}, {"name", "wl"}}},
                                     {"spec", {{"queueName", "lq"}, {"podSets", json::array()}}}});
  const auto after = workload_with(with(kQueue, {condition("QuotaReserved", true, 5)}));
  CHECK(to_texts(measurements_of(*before, after->status)) == Texts{"QuotaReserved cq team-a/lq"});
}

TEST_CASE("measurements: a job's readiness and end and the end of its eviction come from its own reconciler") {
  JobCluster cluster;
  const ObjectKey key{&kJobs, "team-a", "train"};
  cluster.settings.queues.wait_for_pods_ready = WaitForPodsReady{};
  cluster.put(kResourceFlavors, "f", json::object());
  cluster.put(kJobs, "train", queued_job(1));
  cluster.settle(key);
  const std::string name = cluster.names(kWorkloads).at(0);
  const auto admit = [&] {
    cluster.edit(kWorkloads, name, [&](json& object) {
      object["metadata"]["creationTimestamp"] = "2026-01-01T11:58:00Z";
      json conditions = json::array();
      for (const char* type : {"QuotaReserved", "Admitted"})
        conditions.push_back(condition_at("2026-01-01T11:59:00Z", type, "True", type));
      object["status"] = {{"admission", admission_of(1, {{"cpu", "f"}}, {{"cpu", "1"}})}, {"conditions", conditions}};
    });
  };
  const auto measured = [&] { return to_texts(std::exchange(cluster.measurements, {})); };
  CHECK(measured() == Texts{"WorkloadCreated kind=Job"});

  admit();
  cluster.settle(key);
  cluster.edit(kJobs, "train", [](json& job) {
    job["status"] = {{"active", 1}, {"ready", 1}, {"startTime", "2026-01-01T11:59:30Z"}};
  });
  cluster.settle(key);
  CHECK(measured() == Texts{"Ready cq team-a/q 120s", "ReadySinceAdmitted cq team-a/q 60s"});

  cluster.edit(kWorkloads, name, [](json& object) {
    object["status"]["conditions"].push_back(
        condition_at("2026-01-01T11:59:00Z", "Evicted", "True", "PodsReadyTimeout"));
  });
  cluster.settle(key);
  CHECK(measured().empty());  // its pod still runs
  cluster.stop_pods("train");
  cluster.settle(key);
  CHECK(measured() == Texts{"EvictionOver cq team-a/q PodsReadyTimeout 60s"});

  admit();
  cluster.settle(key);
  cluster.edit(kJobs, "train", [](json& job) {
    job["status"] = {{"succeeded", 1}, {"conditions", {{{"type", "Complete"}, {"status", "True"}}}}};
  });
  cluster.settle(key);
  CHECK(measured() == Texts{"Finished cq team-a/q", "Executed cq team-a/q 60s"});
}

TEST_CASE("measurements: labels name only what the cluster has") {
  QueueCluster cluster;
  cluster.put_queues({{"cohortName", "team"}});
  cluster.put(kCohorts, "team", {{"spec", {{"parentName", "company"}}}});
  cluster.put(kCohorts, "company", {{"spec", {{"parentName", "company"}}}});
  cluster.put(kWorkloadPriorityClasses, "high", {{"value", 1}});
  cluster.put(kLocalQueues, "quiet",
              {{"metadata", {{"labels", {{"quiet", "yes"}}}}}, {"spec", {{"clusterQueue", "cq"}}}});
  const Measurement lively{.what = Measured::kEvicted,
                           .cluster_queue = "cq",
                           .ns = "team-a",
                           .local_queue = "lq",
                           .priority_class = "high",
                           .reason = "Deactivated",
                           .cause = "RequeuingLimitExceeded"};
  const auto selector =
      LabelSelector::parse({{"matchExpressions", {{{"key", "quiet"}, {"operator", "DoesNotExist"}}}}});
  REQUIRE(selector.ok());
  cluster.settings.queues.metrics.local_queue_selector = *selector;
  struct Row {
    const char* name;
    std::function<void(Measurement&, QueueSettings&)> edit;
    std::string text;
  };
  const Row rows[] = {
      {"all that it names is there", [](Measurement&, QueueSettings&) {},
       "Evicted cq team-a/lq class=high Deactivated/RequeuingLimitExceeded"},
      {"a priority class that somebody made up", [](Measurement& m, QueueSettings&) { m.priority_class = "x81"; },
       "Evicted cq team-a/lq class=other Deactivated/RequeuingLimitExceeded"},
      {"reasons of somebody else's",
       [](Measurement& m, QueueSettings&) {
         m.reason = "Whim";
         m.cause = "Fancy";
       },
       "Evicted cq team-a/lq class=high other/other"},
      {"a LocalQueue that is gone", [](Measurement& m, QueueSettings&) { m.local_queue = "gone"; },
       "Evicted cq class=high Deactivated/RequeuingLimitExceeded"},
      {"a ClusterQueue that is gone", [](Measurement& m, QueueSettings&) { m.cluster_queue = "gone"; },
       "Evicted team-a/lq class=high Deactivated/RequeuingLimitExceeded"},
      {"one that never had quota belongs to the queue it waited in",
       [](Measurement& m, QueueSettings&) { m.cluster_queue.clear(); },
       "Evicted cq team-a/lq class=high Deactivated/RequeuingLimitExceeded"},
      {"a LocalQueue that is not selected", [](Measurement& m, QueueSettings&) { m.local_queue = "quiet"; },
       "Evicted cq class=high Deactivated/RequeuingLimitExceeded"},
      {"no metrics of LocalQueues", [](Measurement&, QueueSettings& s) { s.metrics.local_queues = false; },
       "Evicted cq class=high Deactivated/RequeuingLimitExceeded"},
      {"the gate of LocalQueues' metrics is off",
       [](Measurement&, QueueSettings& s) { s.rules.feature_gates.set(Gate::kLocalQueueMetrics, false); },
       "Evicted cq class=high Deactivated/RequeuingLimitExceeded"},
      {"an admission counts for every Cohort above and a cycle ends somewhere",
       [](Measurement& m, QueueSettings&) {
         m.what = Measured::kAdmitted;
         m.reason = m.cause = "";
       },
       "Admitted cq team-a/lq class=high ^team ^company"},
      {"the gate of Cohorts' metrics is off",
       [](Measurement& m, QueueSettings& s) {
         m.what = Measured::kAdmitted;
         m.reason = m.cause = "";
         s.rules.feature_gates.set(Gate::kMetricsForCohorts, false);
       },
       "Admitted cq team-a/lq class=high"},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    Measurement measurement = lively;
    QueueSettings settings = cluster.settings.queues;
    row.edit(measurement, settings);
    complete(measurement, cluster.state, settings);
    CHECK(measured_line(measurement) == row.text);
  }
}

}  // namespace measurements_test
