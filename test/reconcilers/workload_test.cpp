#include <doctest/doctest.h>

#include <set>

#include "reconcilers/backoff.h"
#include "test/reconcilers/queue_cluster.h"

using namespace muster;
using muster::test::QueueCluster;
using nlohmann::json;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

using Texts = std::vector<std::string>;
const Texts kOneStatusWrite = {"status workloads/wl"};

void wait_for_pods(QueueCluster& cluster, std::optional<int32_t> limit = std::nullopt) {
  WaitForPodsReady wait;
  wait.timeout = minutes(5);
  wait.recovery_timeout = minutes(2);
  wait.requeuing.backoff_limit_count = limit;
  wait.requeuing.backoff_jitter = 0;
  cluster.settings.queues.wait_for_pods_ready = wait;
}

// What the job's reconciler does once the job has stopped.
void stop_job(QueueCluster& cluster) {
  json status = cluster.status(kWorkloads, "wl");
  json conditions = json::array();
  std::string reason;
  for (const json& condition : status["conditions"]) {
    const std::string type = condition["type"];
    if (type == "Evicted") reason = condition["reason"];
    if (type == "Evicted" || type == "DeactivationTarget") conditions.push_back(condition);
  }
  conditions.push_back(cluster.condition("Requeued", "False", reason.c_str(), seconds(0)));
  conditions.push_back(cluster.condition("QuotaReserved", "False", "PendingEvaluation", seconds(0)));
  conditions.push_back(
      cluster.condition("Admitted", "False", "NoReservation", seconds(0), "The workload has no reservation"));
  status["conditions"] = conditions;
  status.erase("admission");
  json object = cluster.get(kWorkloads, "wl");
  object["status"] = status;
  cluster.put(kWorkloads, "wl", object);
}

// What the scheduler does.
void admit(QueueCluster& cluster) {
  json object = cluster.get(kWorkloads, "wl");
  const json admitted = cluster.admitted_status(seconds(0));
  object["status"]["admission"] = admitted["admission"];
  object["status"]["conditions"] = admitted["conditions"];
  cluster.put(kWorkloads, "wl", object);
}

json requeue_state(const QueueCluster& cluster) {
  return cluster.status(kWorkloads, "wl").value("requeueState", json());
}

}  // namespace

TEST_CASE("a new Workload gets no condition until there is something to say") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  CHECK(cluster.step().empty());
}

TEST_CASE("what keeps a Workload without reservation out is said once and taken back") {
  struct Row {
    const char* name;
    json cluster_queue;
    json local_queue;
    json spec;
    const char* condition;
  };
  const Row rows[] = {
      {"its LocalQueue does not exist", {}, {}, {{"queueName", "other"}}, "False Misconfigured"},
      {"its LocalQueue is held", {}, {{"stopPolicy", "Hold"}}, {}, "False Suspended"},
      {"its ClusterQueue does not exist", {}, {{"clusterQueue", "other"}}, {}, "False Misconfigured"},
      {"its ClusterQueue is drained", {{"stopPolicy", "HoldAndDrain"}}, {}, {}, "False Suspended"},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues(row.cluster_queue.is_null() ? json::object() : row.cluster_queue,
                       row.local_queue.is_null() ? json::object() : row.local_queue);
    cluster.put(kWorkloads, "wl", QueueCluster::workload(row.spec.is_null() ? json::object() : row.spec));
    CHECK(cluster.settle() == kOneStatusWrite);
    CHECK(cluster.workload_condition("QuotaReserved") == row.condition);
    CHECK(cluster.workload_condition("Admitted") == "False NoReservation");

    cluster.put_queues();
    cluster.patch(kWorkloads, "wl", {{"spec", {{"queueName", "lq"}}}});
    CHECK(cluster.settle() == kOneStatusWrite);
    CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
  }
}

TEST_CASE("the scheduler's word on a Workload without reservation stays") {
  QueueCluster cluster;
  cluster.put_queues();
  for (const char* reason : {"NoMatchingFlavor", "WaitingForQuota", "Misconfigured", "WaitingForPodsReady"}) {
    CAPTURE(reason);
    const json conditions = {
        cluster.condition("QuotaReserved", "False", reason, minutes(1), "why"),
        cluster.condition("Admitted", "False", "NoReservation", minutes(1), "The workload has no reservation")};
    cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), {{"conditions", conditions}}));
    CHECK(cluster.step().empty());
  }
}

TEST_CASE("an admission gate keeps a Workload out until it is taken off") {
  QueueCluster cluster;
  cluster.put_queues();
  json workload = QueueCluster::workload();
  workload["metadata"]["annotations"]["kueue.x-k8s.io/admission-gated-by"] = "example.com/gate";
  cluster.put(kWorkloads, "wl", workload);
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("QuotaReserved") == "False AdmissionGated");
  cluster.patch(kWorkloads, "wl", {{"metadata", {{"annotations", nullptr}}}});
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
  CHECK(cluster.events == Texts{"AdmissionGated", "AdmissionGateCleared"});
}

TEST_CASE("checks are attached and a Workload is admitted when all of them are ready") {
  QueueCluster cluster;
  cluster.put_queues({{"admissionChecksStrategy",
                       {{"admissionChecks", {{{"name", "late"}, {"onFlavors", {"f2"}}}, {{"name", "always"}}}}}}});
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"].size() == 1);
  CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"][0]["state"] == "Pending");

  cluster.patch(kWorkloads, "wl", {{"status", cluster.reserved_status()}});
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("Admitted") == "False UnsatisfiedAdmissionChecks");

  json checks = cluster.status(kWorkloads, "wl")["admissionChecks"];
  CHECK(checks.size() == 1);
  checks[0]["state"] = "Ready";
  cluster.patch(kWorkloads, "wl", {{"status", {{"admissionChecks", checks}}}});
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("Admitted") == "True Admitted");
  CHECK(cluster.events == Texts{"Admitted"});
}

TEST_CASE("a Workload that is not ready in time is evicted once and comes back after its backoff") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster);
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.admitted_status(seconds(0))));
  const Plan waiting = cluster.reconcile(QueueCluster::workload_key());
  CHECK(waiting.writes.empty());
  REQUIRE(waiting.again_at);
  CHECK(*waiting.again_at - cluster.now.wall == minutes(5));

  cluster.pass(minutes(5) - seconds(1));
  CHECK(cluster.step().empty());
  cluster.pass(seconds(1));
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("Evicted") == "True PodsReadyTimeout");
  CHECK(cluster.events == Texts{"EvictedDueToPodsReadyTimeout"});
  CHECK(requeue_state(cluster) == json{{"count", 1}, {"requeueAt", cluster.stamp(seconds(60))}});

  stop_job(cluster);
  const Plan backing_off = cluster.reconcile(QueueCluster::workload_key());
  CHECK(backing_off.writes.empty());
  REQUIRE(backing_off.again_at);
  CHECK(*backing_off.again_at - cluster.now.wall == seconds(60));
  cluster.pass(seconds(60));
  CHECK(cluster.settle() == Texts{"status workloads/wl", "status workloads/wl"});
  CHECK(cluster.workload_condition("Requeued") == "True BackoffFinished");
  CHECK(requeue_state(cluster) == json{{"count", 1}});
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
  CHECK(requeue_state(cluster) == json{{"count", 1}});

  stop_job(cluster);
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("QuotaReserved") == "False Deactivated");
  CHECK(requeue_state(cluster) == json{{"count", 1}});

  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.settle();
  CHECK(cluster.workload_condition("Requeued") == "True Reactivated");
  CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
  CHECK(requeue_state(cluster).is_null());
}

TEST_CASE("a person's pause keeps the count of tries") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.put(kWorkloads, "wl", QueueCluster::workload({{"active", false}}, {{"requeueState", {{"count", 2}}}}));
  cluster.settle();
  CHECK(cluster.workload_condition("Evicted") == "True Deactivated");
  stop_job(cluster);
  cluster.settle();
  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.settle();
  CHECK(cluster.workload_condition("Requeued") == "True Reactivated");
  CHECK(requeue_state(cluster) == json{{"count", 2}});
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
  CHECK(requeue_state(cluster)["firstAdmittedAt"] == first);
  CHECK(cluster.workload_condition("Evicted") == "True PodsReadyTimeout");
  stop_job(cluster);
  cluster.pass(minutes(1));
  cluster.settle();
  admit(cluster);
  cluster.pass(minutes(5));
  cluster.settle();
  CHECK(cluster.get(kWorkloads, "wl")["spec"]["active"] == false);
  CHECK(cluster.workload_condition("Evicted") == "True DeactivatedDueToRequeuingLimitExceeded");
}

TEST_CASE("a check that wants a retry gives the quota back at once and names the time of the next try") {
  QueueCluster cluster;
  cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "ac"}}}}}}});
  json status = cluster.reserved_status();
  status["admissionChecks"] = {{{"name", "ac"},
                                {"state", "Retry"},
                                {"message", "later"},
                                {"requeueAfterSeconds", 300},
                                {"lastTransitionTime", cluster.stamp(seconds(0))}}};
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), status));
  cluster.settle();
  CHECK(requeue_state(cluster) == json{{"requeueAt", cluster.stamp(minutes(5))}});
  CHECK(cluster.workload_condition("Evicted") == "True AdmissionCheck");
  CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"][0]["retryCount"] == 1);
  stop_job(cluster);
  CHECK(cluster.step().empty());
  cluster.pass(minutes(5));
  cluster.settle();
  CHECK(cluster.workload_condition("Requeued") == "True BackoffFinished");
}

TEST_CASE("drained queues evict what is admitted and let it come again when they run") {
  struct Row {
    const char* name;
    const ResourceType* type;
    const char* queue;
    const char* evicted;
    const char* requeued;
  };
  const Row rows[] = {
      {"the ClusterQueue", &kClusterQueues, "cq", "True ClusterQueueStopped", "True ClusterQueueRestarted"},
      {"the LocalQueue", &kLocalQueues, "lq", "True LocalQueueStopped", "True LocalQueueRestarted"}};
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues();
    cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.admitted_status()));
    cluster.patch(*row.type, row.queue, {{"spec", {{"stopPolicy", "Hold"}}}});
    CHECK(cluster.settle().empty());
    cluster.patch(*row.type, row.queue, {{"spec", {{"stopPolicy", "HoldAndDrain"}}}});
    CHECK(cluster.settle() == kOneStatusWrite);
    CHECK(cluster.workload_condition("Evicted") == row.evicted);
    stop_job(cluster);
    cluster.settle();
    CHECK(cluster.workload_condition("QuotaReserved") == "False Suspended");
    cluster.patch(*row.type, row.queue, {{"spec", {{"stopPolicy", "None"}}}});
    cluster.settle();
    CHECK(cluster.workload_condition("Requeued") == row.requeued);
    CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
  }
}

TEST_CASE("a reservation that is not admitted yet is taken back from a queue that stops or goes") {
  struct Row {
    const char* name;
    std::function<void(QueueCluster&)> change;
    const char* condition;
  };
  const Row rows[] = {
      {"the ClusterQueue is held",
       [](QueueCluster& c) {
         c.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "Hold"}}}});
       },
       "False Suspended"},
      {"the ClusterQueue is being deleted", [](QueueCluster& c) { c.ask_to_go(kClusterQueues, "cq"); },
       "False Misconfigured"},
      {"the LocalQueue is gone", [](QueueCluster& c) { c.remove(kLocalQueues, "lq"); }, "False Misconfigured"}};
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "ac"}}}}}}});
    cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.reserved_status()));
    cluster.settle();
    row.change(cluster);
    CHECK(cluster.step() == kOneStatusWrite);
    CHECK(cluster.workload_condition("QuotaReserved") == row.condition);
    CHECK_FALSE(cluster.status(kWorkloads, "wl").contains("admission"));
    cluster.settle();
  }
}

TEST_CASE("a clock that goes back fires nothing early and loses nothing") {
  QueueCluster cluster;
  cluster.put_queues();
  wait_for_pods(cluster);
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.admitted_status(seconds(0))));
  cluster.now.wall -= hours(1);
  const Plan plan = cluster.reconcile(QueueCluster::workload_key());
  CHECK(plan.writes.empty());
  REQUIRE(plan.again_at);
  CHECK(*plan.again_at > cluster.now.wall);
  cluster.now.wall += hours(1) + minutes(5);
  CHECK(cluster.settle() == kOneStatusWrite);
}

TEST_CASE("execution time counts over all admissions and its end deactivates") {
  QueueCluster cluster;
  cluster.put_queues();
  json status = cluster.admitted_status(seconds(10));
  status["accumulatedPastExecutionTimeSeconds"] = 40;
  cluster.put(kWorkloads, "wl", QueueCluster::workload({{"maximumExecutionTimeSeconds", 60}}, status));
  const Plan plan = cluster.reconcile(QueueCluster::workload_key());
  REQUIRE(plan.again_at);
  CHECK(*plan.again_at - cluster.now.wall == seconds(10));
  cluster.pass(seconds(10));
  cluster.settle();
  CHECK(cluster.workload_condition("Evicted") == "True DeactivatedDueToMaximumExecutionTimeExceeded");
  CHECK_FALSE(cluster.status(kWorkloads, "wl").contains("accumulatedPastExecutionTimeSeconds"));
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

TEST_CASE("a Workload whose owner is gone is finished or let go") {
  struct Row {
    const char* name;
    json metadata;
    Texts writes;
  };
  const json owner = {
      {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", "j1"}, {"controller", true}}};
  const json finalizers = {muster::test::kInUse};
  const std::string going = "2026-01-01T11:59:00Z";
  const Row rows[] = {
      {"left behind by its job",
       {{"labels", {{"kueue.x-k8s.io/job-uid", "j1"}}}, {"finalizers", finalizers}},
       {"status workloads/wl", "patch workloads/wl"}},
      {"deleted and never owned", {{"deletionTimestamp", going}, {"finalizers", finalizers}}, {"patch workloads/wl"}},
      {"deleted after its job",
       {{"deletionTimestamp", going}, {"ownerReferences", owner}, {"finalizers", finalizers}},
       {"patch workloads/wl"}},
      {"made by hand and not owned", {{"finalizers", finalizers}}, {}},
      {"its job's deletion has not reached it", {{"ownerReferences", owner}, {"finalizers", finalizers}}, {}},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues();
    json workload = QueueCluster::workload();
    workload["metadata"] = row.metadata;
    cluster.put(kWorkloads, "wl", workload);
    CHECK(cluster.settle() == row.writes);
  }
}

TEST_CASE("finished Workloads and deactivated jobs are kept as long as they shall be") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.settings.queues.retain_finished = hours(1);
  json workload = QueueCluster::workload(
      json::object(), {{"conditions", {cluster.condition("Finished", "True", "Succeeded", seconds(0))}}});
  workload["metadata"]["finalizers"] = {muster::test::kInUse};
  cluster.put(kWorkloads, "wl", workload);
  const Plan plan = cluster.reconcile(QueueCluster::workload_key());
  REQUIRE(plan.again_at);
  CHECK(*plan.again_at - cluster.now.wall == hours(1));
  cluster.pass(hours(1));
  CHECK(cluster.settle() == Texts{"patch workloads/wl", "delete workloads/wl"});
  CHECK(cluster.get(kWorkloads, "wl").is_null());
}
