// Workloads whose pods are not ready in time: evicted, tried again, deactivated.
#include <doctest/doctest.h>

#include "reconcilers/workload/backoff.h"
#include "test/reconcilers/queues/queue_cluster.h"

namespace workload_timeout_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const Texts kOneStatusWrite = {"status workloads/wl"};

void wait_for_pods(QueueCluster& cluster, std::optional<int32_t> limit = std::nullopt) {
  WaitForPodsReady wait;
  wait.timeout = minutes(5);
  wait.recovery_timeout = minutes(2);
  wait.requeuing.backoff_limit_count = limit;
  wait.requeuing.backoff_jitter = 0;
  cluster.settings.queues.wait_for_pods_ready = wait;
}

// What the scheduler does.
void admit(QueueCluster& cluster) {
  cluster.patch(kWorkloads, "wl", {{"status", cluster.admitted_status(seconds(0))}});
}

}  // namespace

TEST_CASE("a Workload that is not ready in time is evicted once and comes back after its backoff") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster);
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.admitted_status(seconds(0))));
  const Plan waiting = cluster.reconcile(QueueCluster::workload_key());
  CHECK(waiting.writes.empty());
  REQUIRE(waiting.again_at);
  CHECK(*waiting.again_at - cluster.now().wall == minutes(5));

  cluster.pass(minutes(5) - seconds(1));
  CHECK(cluster.step().empty());
  cluster.pass(seconds(1));
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("Evicted") == "True PodsReadyTimeout");
  CHECK(cluster.event_reasons() == Texts{"EvictedDueToPodsReadyTimeout"});
  CHECK(cluster.requeue_state() == json{{"count", 1}, {"requeueAt", cluster.stamp(seconds(60))}});

  cluster.stop_job();
  const Plan backing_off = cluster.reconcile(QueueCluster::workload_key());
  CHECK(backing_off.writes.empty());
  REQUIRE(backing_off.again_at);
  CHECK(*backing_off.again_at - cluster.now().wall == seconds(60));
  cluster.pass(seconds(60));
  CHECK(cluster.settle() == Texts{"status workloads/wl", "status workloads/wl"});
  CHECK(cluster.workload_condition("Requeued") == "True BackoffFinished");
  CHECK(cluster.requeue_state() == json{{"count", 1}});
}

TEST_CASE("the message of a timeout says what of the job is not ready") {
  struct Row {
    const char* name;
    const ResourceType* type;
    json object;  // spec and status
    const char* rest;
  };
  const json one_of_two = {{"spec", {{"parallelism", 2}, {"completions", 2}}}, {"status", {{"ready", 1}}}};
  const auto replicated = [](const char* name, int replicas) { return json{{"name", name}, {"replicas", replicas}}; };
  json staged = {{"spec", {{"replicatedJobs", {replicated("a", 2), replicated("b", 3), replicated("c", 1)}}}},
                 {"status", {{"replicatedJobsStatus", {{{"name", "a"}, {"ready", 1}, {"succeeded", 1}}}}}}};
  staged["spec"]["replicatedJobs"][2]["dependsOn"] = json::array({{{"name", "b"}, {"status", "Ready"}}});
  const Row rows[] = {
      {"a Job", &kJobs, one_of_two, " (1 of 2 pods are ready)"},
      {"a JobSet: what may start", &kJobSets, staged, " (b: 0 of 3 Jobs are ready)"},
      {"a namesake", &kJobs, json(), ""},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    QueueCluster cluster;
    cluster.put_queues();
    wait_for_pods(cluster);
    if (!row.object.is_null()) {
      json object = row.object;
      object["metadata"] = {{"uid", "owner-uid"}};
      cluster.put(*row.type, "train", object);
    }
    json workload = QueueCluster::workload(json::object(), cluster.admitted_status(seconds(0)));
    workload["metadata"]["ownerReferences"] = controlled_by(*row.type, "train", "owner-uid");
    cluster.put(kWorkloads, "wl", workload);
    cluster.pass(minutes(5));
    const Plan plan = cluster.reconcile(QueueCluster::workload_key());
    REQUIRE(plan.writes.size() == 1);
    const std::string text = "\"Exceeded the PodsReady timeout team-a/wl" + std::string(row.rest) + "\"";
    CHECK_MESSAGE(plan.writes[0].body.dump().find(text) != std::string::npos, plan.writes[0].body.dump());
  }
}

TEST_CASE("the recovery timeout counts from the moment at which the pods were lost") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster);
  json status = cluster.admitted_status(hours(3));
  status["conditions"].push_back(cluster.condition("PodsReady", "False", "WaitForRecovery", minutes(1)));
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), status));
  CHECK(cluster.step().empty());
  cluster.pass(minutes(1));
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.status(kWorkloads, "wl")["schedulingStats"]["evictions"] ==
        json{{{"reason", "PodsReadyTimeout"}, {"underlyingCause", "WaitForRecovery"}, {"count", 1}}});
}

TEST_CASE("past the limit of tries a Workload is deactivated and reactivation begins a new count") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster, 1);
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), {{"requeueState", {{"count", 1}}}}));
  admit(cluster);
  cluster.pass(minutes(5));
  CHECK(cluster.settle() == Texts{"status workloads/wl", "patch workloads/wl", "status workloads/wl"});
  CHECK(cluster.get(kWorkloads, "wl")["spec"]["active"] == false);
  CHECK(cluster.workload_condition("Evicted") == "True DeactivatedDueToRequeuingLimitExceeded");
  CHECK(cluster.workload_condition("DeactivationTarget").empty());
  CHECK(cluster.requeue_state() == json{{"count", 1}});

  cluster.stop_job();
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("QuotaReserved") == "False Deactivated");
  CHECK(cluster.requeue_state() == json{{"count", 1}});

  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.settle();
  CHECK(cluster.workload_condition("Requeued") == "True Reactivated");
  CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
  CHECK(cluster.requeue_state().is_null());
}

TEST_CASE("a person's pause keeps the count of tries") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.put(kWorkloads, "wl", QueueCluster::workload({{"active", false}}, {{"requeueState", {{"count", 2}}}}));
  cluster.settle();
  CHECK(cluster.workload_condition("Evicted") == "True Deactivated");
  cluster.stop_job();
  cluster.settle();
  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.settle();
  CHECK(cluster.workload_condition("Requeued") == "True Reactivated");
  CHECK(cluster.requeue_state() == json{{"count", 2}});
}

TEST_CASE("with a limit in time the first admission counts over all tries") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster);
  cluster.settings.queues.wait_for_pods_ready->requeuing.backoff_limit_timeout = minutes(8);
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  admit(cluster);
  const std::string first = cluster.stamp(seconds(0));
  cluster.pass(minutes(5));
  cluster.settle();
  CHECK(cluster.requeue_state()["firstAdmittedAt"] == first);
  CHECK(cluster.workload_condition("Evicted") == "True PodsReadyTimeout");
  cluster.stop_job();
  cluster.pass(minutes(1));
  cluster.settle();
  admit(cluster);
  cluster.pass(minutes(5));
  cluster.settle();
  CHECK(cluster.get(kWorkloads, "wl")["spec"]["active"] == false);
  CHECK(cluster.workload_condition("Evicted") == "True DeactivatedDueToRequeuingLimitExceeded");
}

TEST_CASE("a clock that goes back fires nothing early and loses nothing") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster);
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.admitted_status(seconds(0))));
  cluster.jump_wall_clock(-hours(1));
  const Plan plan = cluster.reconcile(QueueCluster::workload_key());
  CHECK(plan.writes.empty());
  REQUIRE(plan.again_at);
  CHECK(*plan.again_at > cluster.now().wall);
  cluster.jump_wall_clock(hours(1) + minutes(5));
  CHECK(cluster.settle() == kOneStatusWrite);
}

TEST_CASE("Workloads that are evicted together do not come back together") {
  RequeuingStrategy strategy;
  strategy.backoff_base_seconds = 600;
  constexpr int kWorkloadCount = 10'000;
  std::map<int64_t, int> tenths;
  for (int i = 0; i < kWorkloadCount; ++i) {
    const double share = jitter_share("0c5a7c5e-7a9e-4c0b-9a57-" + std::to_string(100'000'000'000 + i), 1);
    REQUIRE(share >= 0);
    REQUIRE(share < 1);
    ++tenths[static_cast<int64_t>(share * 10)];
  }
  REQUIRE(tenths.size() == 10);
  for (const auto& [tenth, count] : tenths) CHECK(count > kWorkloadCount / 10 * 85 / 100);
  RequeueState state;
  const TimePoint now{};
  count_eviction(state, strategy, "uid", now + std::chrono::milliseconds(1));
  CHECK(to_time_point(state.requeue_at) >= now + seconds(601));
  CHECK(to_time_point(state.requeue_at) <= now + seconds(661));
}

}  // namespace workload_timeout_test
