#include <doctest/doctest.h>

#include <set>

#include "test/reconcilers/queues/queue_cluster.h"

namespace workload_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const Texts kOneStatusWrite = {"status workloads/wl"};

}  // namespace

TEST_CASE("a new Workload gets no condition until there is something to say") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  CHECK(cluster.step().empty());
}

TEST_CASE("with the gate UnadmittedWorkloadsExplicitStatus a new Workload says at once that it is pending") {
  QueueCluster cluster;
  cluster.settings.queues.rules.feature_gates.set(Gate::kUnadmittedWorkloadsExplicitStatus, true);
  cluster.put_queues();
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  CHECK(cluster.settle() == kOneStatusWrite);
  CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
  CHECK(cluster.workload_condition("Admitted") == "False NoReservation");
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
  CHECK(cluster.event_reasons() == Texts{"AdmissionGated", "AdmissionGateCleared"});
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
  CHECK(cluster.event_reasons() == Texts{"Admitted"});
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
  CHECK(cluster.requeue_state() == json{{"requeueAt", cluster.stamp(minutes(5))}});
  CHECK(cluster.workload_condition("Evicted") == "True AdmissionCheck");
  CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"][0]["retryCount"] == 1);
  cluster.stop_job();
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
    cluster.stop_job();
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
      {"the ClusterQueue is being deleted", [](QueueCluster& c) { c.remove(kClusterQueues, "cq"); },
       "False Misconfigured"},
      {"the LocalQueue is gone", [](QueueCluster& c) { c.vanish(kLocalQueues, "lq"); }, "False Misconfigured"}};
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

TEST_CASE("execution time counts over all admissions and its end deactivates") {
  QueueCluster cluster;
  cluster.put_queues();
  json status = cluster.admitted_status(seconds(10));
  status["accumulatedPastExecutionTimeSeconds"] = 40;
  cluster.put(kWorkloads, "wl", QueueCluster::workload({{"maximumExecutionTimeSeconds", 60}}, status));
  const Plan plan = cluster.reconcile(QueueCluster::workload_key());
  REQUIRE(plan.again_at);
  CHECK(*plan.again_at - cluster.now().wall == seconds(10));
  cluster.pass(seconds(10));
  cluster.settle();
  CHECK(cluster.workload_condition("Evicted") == "True DeactivatedDueToMaximumExecutionTimeExceeded");
  CHECK_FALSE(cluster.status(kWorkloads, "wl").contains("accumulatedPastExecutionTimeSeconds"));
}

TEST_CASE("a Workload whose owner is gone is finished or let go") {
  struct Row {
    const char* name;
    json metadata;
    Texts writes;
  };
  const json owner = {
      {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", "j1"}, {"controller", true}}};
  const json ray = {
      {{"apiVersion", "ray.io/v1"}, {"kind", "RayJob"}, {"name", "r"}, {"uid", "r1"}, {"controller", true}}};
  const json finalizers = {kInUse};
  const std::string going = "2026-01-01T11:59:00Z";
  const Row rows[] = {
      {"left behind by its job",
       {{"labels", {{"kueue.x-k8s.io/job-uid", "j1"}}}, {"finalizers", finalizers}},
       {"status workloads/wl", "patch workloads/wl"}},
      {"deleted and never owned", {{"deletionTimestamp", going}, {"finalizers", finalizers}}, {"patch workloads/wl"}},
      {"deleted after its job",
       {{"deletionTimestamp", going}, {"ownerReferences", owner}, {"finalizers", finalizers}},
       {"patch workloads/wl"}},
      {"deleted, and of a kind that nobody looks after",
       {{"deletionTimestamp", going},
        {"ownerReferences",
         {{{"apiVersion", "ray.io/v1"}, {"kind", "RayCluster"}, {"name", "r"}, {"uid", "r1"}, {"controller", true}}}},
        {"finalizers", finalizers}},
       {"patch workloads/wl"}},
      {"deleted, and its external controller has not stopped the pods",
       {{"deletionTimestamp", going}, {"ownerReferences", ray}, {"finalizers", finalizers}},
       {}},
      {"made by hand and not owned", {{"finalizers", finalizers}}, {}},
      {"its job's deletion has not reached it", {{"ownerReferences", owner}, {"finalizers", finalizers}}, {}},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.settings.queues.rules.external_frameworks = {"RayJob.v1.ray.io"};
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
  workload["metadata"]["finalizers"] = {kInUse};
  cluster.put(kWorkloads, "wl", workload);
  const Plan plan = cluster.reconcile(QueueCluster::workload_key());
  REQUIRE(plan.again_at);
  CHECK(*plan.again_at - cluster.now().wall == hours(1));
  cluster.pass(hours(1));
  CHECK(cluster.settle() == Texts{"patch workloads/wl", "delete workloads/wl"});
  CHECK(cluster.get(kWorkloads, "wl").is_null());
}

}  // namespace workload_test
