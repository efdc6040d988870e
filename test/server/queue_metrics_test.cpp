#include "server/metrics/queue_metrics.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <thread>

#include "server/metrics/metrics.h"
#include "test/support/vectors.h"

namespace queue_metrics_test {

using namespace muster;
using namespace muster::server;

namespace {

struct Shown {
  explicit Shown(bool elects_leader = true)
      : queues(elects_leader, [this] { return readings; }), metrics(MetricsOptions{.version = "1", .rules = {}}) {
    metrics.include(queues.collectable());
  }

  bool has(const std::string& line) const {
    return ("\n" + metrics.expose()).find("\n" + line + "\n") != std::string::npos;
  }
  bool mentions(const std::string& text) const { return metrics.expose().find(text) != std::string::npos; }
  // That have a series, of all of muster's metrics.
  int64_t families() const {
    const std::string text = metrics.expose();
    const std::regex type("# TYPE ");
    return std::distance(std::sregex_iterator(text.begin(), text.end(), type), std::sregex_iterator());
  }
  size_t lines() const {
    const std::string text = metrics.expose();
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  std::optional<GaugeReadings> readings;
  QueueMetrics queues;
  Metrics metrics;
};

Measurement measurement(Measured what, double seconds = 0) {
  return {.what = what,
          .cluster_queue = "cq",
          .ns = "team-a",
          .local_queue = "lq",
          .jobset = "js",
          .priority_class = "high",
          .reason = "PodsReadyTimeout",
          .cause = "WaitForStart",
          .flavor = "spot",
          .kind = "JobSet",
          .gate = "kueue.x-k8s.io/admission",
          .cohorts = {"team", "company"},
          .seconds = seconds};
}

constexpr const char* kQueue = R"(cluster_queue="cq",priority_class="high",replica_role="leader")";
constexpr const char* kLocal = R"(name="lq",namespace="team-a",priority_class="high",replica_role="leader")";

}  // namespace

TEST_CASE("Every measurement shows in its families with their labels and in no others") {
  const std::string queue = kQueue, local = kLocal;
  const std::string evicted = R"(reason="PodsReadyTimeout",replica_role="leader",underlying_cause="WaitForStart")";
  struct Row {
    const char* name;
    Measurement measurement;
    std::vector<std::string> lines;
    int families;
  };
  Measurement attempt{.what = Measured::kAdmissionAttempt, .reason = kAttemptSuccess, .seconds = 0.02};
  Measurement bare = measurement(Measured::kAdmitted);
  bare.local_queue.clear();
  bare.cohorts.clear();
  Measurement nobody = measurement(Measured::kFinished);
  nobody.cluster_queue.clear();
  nobody.local_queue.clear();
  const Row rows[] = {
      {"an attempt",
       attempt,
       {R"(kueue_admission_attempts_total{replica_role="leader",result="success"} 1)",
        R"(kueue_admission_attempt_duration_seconds_bucket{replica_role="leader",result="success",le="0.01"} 0)",
        R"(kueue_admission_attempt_duration_seconds_bucket{replica_role="leader",result="success",le="0.025"} 1)"},
       2},
      {"a reservation",
       measurement(Measured::kQuotaReserved, 3),
       {"kueue_quota_reserved_workloads_total{" + queue + "} 1",
        "kueue_local_queue_quota_reserved_workloads_total{" + local + "} 1",
        "kueue_quota_reserved_wait_time_seconds_bucket{" + queue + ",le=\"2.5\"} 0",
        "kueue_quota_reserved_wait_time_seconds_bucket{" + queue + ",le=\"5\"} 1",
        "kueue_quota_reserved_wait_time_seconds_bucket{" + queue + ",le=\"10240\"} 1",
        "kueue_local_queue_quota_reserved_wait_time_seconds_sum{" + local + "} 3"},
       4},
      {"an admission",
       measurement(Measured::kAdmitted, 3),
       {"kueue_admitted_workloads_total{" + queue + "} 1",
        "kueue_local_queue_admitted_workloads_total{" + local + "} 1",
        R"(kueue_cohort_subtree_admitted_workloads_total{cohort="team",priority_class="high",replica_role="leader"} 1)",
        R"(kueue_cohort_subtree_admitted_workloads_total{cohort="company",priority_class="high",replica_role="leader"} 1)",
        "kueue_admission_wait_time_seconds_bucket{" + queue + ",le=\"40960\"} 1",
        "kueue_local_queue_admission_wait_time_seconds_count{" + local + "} 1"},
       5},
      {"an admission that concerns no LocalQueue of ours and no Cohort",
       bare,
       {"kueue_admitted_workloads_total{" + queue + "} 1"},
       2},
      {"checks that passed",
       measurement(Measured::kChecksPassed, 7),
       {"kueue_admission_checks_wait_time_seconds_sum{" + queue + "} 7",
        "kueue_local_queue_admission_checks_wait_time_seconds_sum{" + local + "} 7"},
       2},
      {"ready pods",
       measurement(Measured::kReady, 7),
       {"kueue_ready_wait_time_seconds_sum{" + queue + "} 7",
        "kueue_local_queue_ready_wait_time_seconds_sum{" + local + "} 7"},
       2},
      {"ready pods since the admission",
       measurement(Measured::kReadySinceAdmitted, 7),
       {"kueue_admitted_until_ready_wait_time_seconds_sum{" + queue + "} 7",
        "kueue_local_queue_admitted_until_ready_wait_time_seconds_sum{" + local + "} 7"},
       2},
      {"pods that are ready again",
       measurement(Measured::kRecovered, 7),
       {"kueue_workload_recovery_wait_time_seconds_sum{" + queue + "} 7",
        "kueue_local_queue_workload_recovery_wait_time_seconds_sum{" + local + "} 7"},
       2},
      {"an eviction",
       measurement(Measured::kEvicted),
       {R"(kueue_evicted_workloads_total{cluster_queue="cq",priority_class="high",)" + evicted + "} 1",
        R"(kueue_local_queue_evicted_workloads_total{name="lq",namespace="team-a",priority_class="high",)" + evicted +
            "} 1"},
       2},
      {"a first eviction",
       measurement(Measured::kEvictedFirst),
       {R"(kueue_evicted_workloads_once_total{cluster_queue="cq",priority_class="high",)" + evicted + "} 1"},
       1},
      {"an eviction of ready pods",
       measurement(Measured::kEvictedWhileReady, 7),
       {R"(kueue_pods_ready_to_evicted_time_seconds_sum{cluster_queue="cq",)" + evicted + "} 7"},
       1},
      {"the end of an eviction",
       measurement(Measured::kEvictionOver, 7),
       {R"(kueue_workload_eviction_latency_seconds_sum{cluster_queue="cq",reason="PodsReadyTimeout",replica_role="leader"} 7)"},
       1},
      {"a preemption",
       measurement(Measured::kPreempted),
       {R"(kueue_preempted_workloads_total{preempting_cluster_queue="cq",reason="PodsReadyTimeout",replica_role="leader"} 1)"},
       1},
      {"a flavor that has failed",
       measurement(Measured::kFlavorFallback),
       {R"(muster_flavor_fallbacks_total{cluster_queue="cq",flavor="spot",replica_role="leader",trigger="PodsReadyTimeout"} 1)"},
       1},
      {"an end",
       measurement(Measured::kFinished),
       {"kueue_finished_workloads_total{" + queue + "} 1",
        "kueue_local_queue_finished_workloads_total{" + local + "} 1"},
       2},
      {"an end in no queue that there is", nobody, {}, 0},
      {"what was executed",
       measurement(Measured::kExecuted, 7),
       {"kueue_execution_time_seconds_sum{" + queue + "} 7",
        "kueue_local_queue_execution_time_seconds_sum{" + local + "} 7"},
       2},
      {"a Workload that is made",
       measurement(Measured::kWorkloadCreated, 7),
       {R"(kueue_workload_creation_latency_seconds_sum{job_kind="JobSet",replica_role="leader"} 7)",
        R"(kueue_workload_creation_latency_seconds_bucket{job_kind="JobSet",replica_role="leader",le="10240"} 1)"},
       1},
      {"a pod that can be scheduled",
       measurement(Measured::kPodUngated, 7),
       {R"(kueue_pod_scheduling_gate_removal_seconds_sum{cluster_queue="cq",is_group="false",name="kueue.x-k8s.io/admission",replica_role="leader"} 7)",
        R"(kueue_pod_scheduling_gate_removal_seconds_bucket{cluster_queue="cq",is_group="false",name="kueue.x-k8s.io/admission",replica_role="leader",le="10240"} 1)"},
       1},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    Shown shown;
    const int64_t before = shown.families();
    shown.queues.record(row.measurement);
    for (const std::string& line : row.lines) {
      CAPTURE(line);
      CHECK(shown.has(line));
    }
    CHECK(shown.families() - before == row.families);
  }
}

TEST_CASE("Series add up and end with their queue and begin anew") {
  Shown shown;
  for (int i = 0; i < 3; ++i) shown.queues.record(measurement(Measured::kAdmitted, 2));
  shown.queues.record(measurement(Measured::kPreempted));
  CHECK(shown.has(std::string("kueue_admitted_workloads_total{") + kQueue + "} 3"));
  CHECK(shown.has(std::string("kueue_admission_wait_time_seconds_sum{") + kQueue + "} 6"));

  shown.queues.record({.what = Measured::kClusterQueueGone, .cluster_queue = "other"});
  CHECK(shown.mentions("\"cq\""));
  shown.queues.record({.what = Measured::kClusterQueueGone, .cluster_queue = "cq"});
  CHECK_FALSE(shown.mentions("\"cq\""));
  CHECK(shown.has(std::string("kueue_local_queue_admitted_workloads_total{") + kLocal + "} 3"));
  shown.queues.record({.what = Measured::kLocalQueueGone, .ns = "team-b", .local_queue = "lq"});
  CHECK(shown.mentions("\"lq\""));
  shown.queues.record({.what = Measured::kLocalQueueGone, .ns = "team-a", .local_queue = "lq"});
  CHECK_FALSE(shown.mentions("\"lq\""));
  shown.queues.record({.what = Measured::kCohortGone, .cohorts = {"team"}});
  CHECK_FALSE(shown.mentions("\"team\""));
  CHECK(shown.mentions("cohort=\"company\""));

  shown.queues.record(measurement(Measured::kAdmitted, 2));
  CHECK(shown.has(std::string("kueue_admitted_workloads_total{") + kQueue + "} 1"));
}

TEST_CASE("Series differ by each of their labels") {
  Shown shown;
  Measurement pod = measurement(Measured::kPodUngated, 1), job = measurement(Measured::kWorkloadCreated, 1);
  shown.queues.record(pod);
  shown.queues.record(job);
  pod.of_group = true;
  job.kind = "Pod";
  shown.queues.record(pod);
  shown.queues.record(job);
  pod.gate = "kueue.x-k8s.io/topology";
  shown.queues.record(pod);
  const std::string count = "kueue_pod_scheduling_gate_removal_seconds_count{cluster_queue=\"cq\",is_group=";
  CHECK(shown.has(count + R"("false",name="kueue.x-k8s.io/admission",replica_role="leader"} 1)"));
  CHECK(shown.has(count + R"("true",name="kueue.x-k8s.io/admission",replica_role="leader"} 1)"));
  CHECK(shown.has(count + R"("true",name="kueue.x-k8s.io/topology",replica_role="leader"} 1)"));
  for (const char* kind : {"JobSet", "Pod"})
    CHECK(shown.has("kueue_workload_creation_latency_seconds_count{job_kind=\"" + std::string(kind) +
                    "\",replica_role=\"leader\"} 1"));
}

TEST_CASE("JobSets that have ended are counted until they are gone") {
  Shown shown;
  shown.queues.record({.what = Measured::kJobSetCompleted, .ns = "team-a", .jobset = "train"});
  shown.queues.record({.what = Measured::kJobSetFailed, .ns = "team-a", .jobset = "other"});
  CHECK(shown.has(R"(jobset_completed_total{jobset_name="train",namespace="team-a",replica_role="leader"} 1)"));
  CHECK(shown.has(R"(jobset_failed_total{jobset_name="other",namespace="team-a",replica_role="leader"} 1)"));
  shown.queues.record({.what = Measured::kJobSetTooLate, .ns = "team-a", .jobset = "other"});
  CHECK(shown.has(
      R"(jobset_active_deadline_exceeded_total{jobset_name="other",namespace="team-a",replica_role="leader"} 1)"));
  shown.queues.record({.what = Measured::kJobSetGone, .ns = "team-a", .jobset = "train"});
  CHECK_FALSE(shown.mentions("\"train\""));
  CHECK(shown.mentions("\"other\""));
}

TEST_CASE("Queues that come and go leave the exposition as it was") {
  Shown shown;
  const size_t before = shown.lines();
  for (int i = 0; i < 200; ++i) {
    Measurement one = measurement(Measured::kAdmitted, 1);
    one.cluster_queue = one.local_queue = "q" + std::to_string(i);
    one.cohorts.clear();
    shown.queues.record(one);
    shown.queues.record({.what = Measured::kClusterQueueGone, .cluster_queue = one.cluster_queue});
    shown.queues.record({.what = Measured::kLocalQueueGone, .ns = one.ns, .local_queue = one.local_queue});
  }
  CHECK(shown.lines() == before);
}

TEST_CASE("Gauges are what is read at that moment and bear this replica's part") {
  const auto pending = [](const std::string& role) {
    return R"(kueue_pending_workloads{cluster_queue="cq",status="active",replica_role=")" + role + "\"} 2";
  };
  Shown elected, alone(false);
  CHECK_FALSE(elected.mentions("kueue_"));
  const GaugeReadings readings{
      .leads = true, .gauges = {{Gauge::kPendingWorkloads, {{"cluster_queue", "cq"}, {"status", "active"}}, 2}}};
  elected.readings = alone.readings = readings;
  CHECK(elected.has(pending("leader")));
  CHECK(elected.has("# TYPE kueue_pending_workloads gauge"));
  CHECK(alone.has(pending("standalone")));
  elected.readings->leads = false;
  CHECK(elected.has(pending("follower")));
  CHECK_FALSE(elected.mentions("leader"));
  elected.readings->gauges.clear();
  CHECK_FALSE(elected.mentions("kueue_"));
  alone.queues.record(measurement(Measured::kFinished));
  CHECK(alone.has(
      R"(kueue_finished_workloads_total{cluster_queue="cq",priority_class="high",replica_role="standalone"} 1)"));
}

TEST_CASE("Objects that are not supported are shown by kind and what they ask for") {
  Shown shown;
  shown.readings = GaugeReadings{.leads = true,
                                 .gauges = {{Gauge::kUnsupportedObjects, {{"kind", "JobSet"}, {"what", "action"}}, 2}}};
  CHECK(shown.has(R"(muster_unsupported_objects{kind="JobSet",what="action",replica_role="leader"} 2)"));
}

TEST_CASE("Resource seconds are a counter without this replica's part, so that a change of leader is no other series") {
  Shown shown;
  const GaugeLabels labels = {
      {"cluster_queue", "cq"}, {"namespace", "team-a"}, {"flavor", "f"}, {"resource", "nvidia.com/gpu"}};
  shown.readings = GaugeReadings{.leads = true, .gauges = {{Gauge::kResourceSeconds, labels, 2.5}}};
  const std::string line =
      R"(muster_resource_seconds_total{cluster_queue="cq",namespace="team-a",flavor="f",resource="nvidia.com/gpu"} 2.5)";
  CHECK(shown.has("# TYPE muster_resource_seconds_total counter"));
  CHECK(shown.has(line));
  shown.readings->leads = false;
  CHECK(shown.has(line));
}

TEST_CASE("Limits that are none and shares without a weight are shown as Prometheus writes them") {
  Shown shown;
  shown.readings =
      GaugeReadings{.leads = true,
                    .gauges = {{Gauge::kBorrowingLimit,
                                {{"cohort", "team"}, {"cluster_queue", "cq"}, {"flavor", "f"}, {"resource", "cpu"}},
                                std::numeric_limits<double>::infinity()},
                               {Gauge::kClusterQueueShare,
                                {{"cluster_queue", "cq"}, {"cohort", "team"}},
                                std::numeric_limits<double>::quiet_NaN()}}};
  CHECK(shown.has(
      R"(kueue_cluster_queue_borrowing_limit{cohort="team",cluster_queue="cq",flavor="f",resource="cpu",replica_role="leader"} +Inf)"));
  CHECK(shown.has(R"(kueue_cluster_queue_weighted_share{cluster_queue="cq",cohort="team",replica_role="leader"} Nan)"));
}

TEST_CASE("Every measurement has a family") {
  for (auto what = Measured::kAdmissionAttempt; what < Measured::kClusterQueueGone;
       what = static_cast<Measured>(static_cast<int>(what) + 1)) {
    CAPTURE(static_cast<int>(what));
    Shown shown;
    const int64_t before = shown.families();
    shown.queues.record(measurement(what));
    CHECK(shown.families() > before);
  }
}

TEST_CASE("The documentation has every family") {
  Shown shown;
  // Of requests, certificates and the process: their tables are others.
  const std::string others = shown.metrics.expose();
  for (auto what = Measured::kAdmissionAttempt; what < Measured::kClusterQueueGone;
       what = static_cast<Measured>(static_cast<int>(what) + 1))
    shown.queues.record(measurement(what));
  shown.readings = GaugeReadings{};
  for (auto gauge = Gauge::kPendingWorkloads; gauge <= Gauge::kResourceSeconds;
       gauge = static_cast<Gauge>(static_cast<int>(gauge) + 1))
    shown.readings->gauges.push_back({gauge, {}, 1});
  const std::string page = test::read_source_file("docs/metrics.md"), text = shown.metrics.expose();
  const std::regex type("# TYPE ((?:kueue|muster|jobset)_\\w+) (\\w+)");
  const std::string local = "_local_queue_";
  int families = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), type), end; it != end; ++it) {
    const std::string name = (*it)[1], kind = (*it)[2];
    if (others.find("# TYPE " + name + " ") != std::string::npos) continue;
    ++families;
    CAPTURE(name);
    // Counters and histograms by LocalQueue share the row of their ClusterQueue's.
    const size_t infix = name.find(local);
    const bool shares = kind != "gauge" && infix != std::string::npos;
    std::string row = "`" + name + "`";
    if (shares) row.replace(infix + 1, local.size(), "_");
    // With its labels where it is named beside others.
    const size_t at = std::min(page.find(row), page.find("`" + name + "{"));
    REQUIRE(at != std::string::npos);
    const std::string line = page.substr(at, page.find('\n', at) - at);
    if (shares) CHECK(line.ends_with("| yes |"));
    if (kind != "gauge") CHECK(line.find("| " + kind + " |") != std::string::npos);
  }
  CHECK(families == 68);
}

TEST_CASE("Measurements may come while somebody collects") {
  Shown shown;
  std::jthread collector([&](std::stop_token stop) {
    while (!stop.stop_requested()) shown.metrics.expose();
  });
  for (int i = 0; i < 500; ++i) {
    shown.queues.record(measurement(Measured::kAdmitted, 1));
    if (i % 50 == 49) shown.queues.record({.what = Measured::kClusterQueueGone, .cluster_queue = "cq"});
  }
  collector.request_stop();
  collector.join();
  CHECK_FALSE(shown.mentions("\"cq\""));
  CHECK(shown.has(std::string("kueue_local_queue_admitted_workloads_total{") + kLocal + "} 500"));
}

}  // namespace queue_metrics_test
