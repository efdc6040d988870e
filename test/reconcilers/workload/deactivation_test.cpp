// Every way into deactivation, back out of it, and what becomes of who stays there.
#include "test/reconcilers/queues/queue_cluster.h"

namespace deactivation_test {

using namespace muster;
using namespace muster::test;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

json rejected_check() {
  return {{"name", "ac"}, {"state", "Rejected"}, {"message", "never"}, {"lastTransitionTime", "2026-01-01T11:00:00Z"}};
}

}  // namespace

// As in Kueue. muster took it for an admission of this moment, again after each restart.
TEST_CASE("an admission without a time is older than every maximum execution time") {
  for (const bool has_time : {true, false}) {
    CAPTURE(has_time);
    QueueCluster cluster;
    cluster.put_queues();
    json status = cluster.admitted_status(minutes(6));
    for (json& condition : status["conditions"]) {
      if (!has_time && condition["type"] == "Admitted") condition.erase("lastTransitionTime");
    }
    cluster.put(kWorkloads, "wl", QueueCluster::workload({{"maximumExecutionTimeSeconds", 3600}}, status));
    cluster.settle();
    CHECK(cluster.get(kWorkloads, "wl")["spec"].value("active", true) == has_time);
  }
}

TEST_CASE("whoever is deactivated for whatever reason can be reactivated and queues again") {
  struct Row {
    const char* name;
    json spec;
    json status;  // beside that of an admitted Workload
    const char* reason;
    bool keeps_count;
  };
  const Row rows[] = {
      {"by a person", {{"active", false}}, json::object(), "Deactivated", true},
      {"by the limit of tries", json::object(), json::object(), "DeactivatedDueToRequeuingLimitExceeded", false},
      {"by its execution time",
       {{"maximumExecutionTimeSeconds", 30}},
       json::object(),
       "DeactivatedDueToMaximumExecutionTimeExceeded",
       false},
      {"by a check",
       json::object(),
       {{"admissionChecks", {rejected_check()}}},
       "DeactivatedDueToAdmissionCheck",
       false},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    QueueCluster cluster;
    json checks = json::object();
    if (row.status.contains("admissionChecks"))
      checks = {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "ac"}}}}}}};
    cluster.put_queues(checks);
    cluster.settings.queues.wait_for_pods_ready.emplace();
    cluster.settings.queues.wait_for_pods_ready->requeuing.backoff_limit_count = 2;
    json status = cluster.admitted_status(minutes(6));
    status["requeueState"] = {{"count", 2}};
    if (std::string(row.reason) != "DeactivatedDueToRequeuingLimitExceeded")
      status["conditions"].push_back(cluster.condition("PodsReady", "True", "Started"));
    status.update(row.status);
    cluster.put(kWorkloads, "wl", QueueCluster::workload(row.spec, status));
    cluster.settle();
    CHECK(cluster.get(kWorkloads, "wl")["spec"]["active"] == false);
    CHECK(cluster.workload_condition("Evicted") == std::string("True ") + row.reason);
    CHECK(cluster.workload_condition("DeactivationTarget").empty());
    cluster.stop_job();
    cluster.settle();
    CHECK(cluster.workload_condition("QuotaReserved") == "False Deactivated");

    cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
    cluster.settle();
    CHECK(cluster.workload_condition("Requeued") == "True Reactivated");
    CHECK(cluster.workload_condition("QuotaReserved") == "False PendingEvaluation");
    CHECK(cluster.status(kWorkloads, "wl").contains("requeueState") == row.keeps_count);
    for (const json& check : cluster.status(kWorkloads, "wl").value("admissionChecks", json::array()))
      CHECK(check["state"] == "Pending");
  }
}

TEST_CASE("what a check answers while an evicted job stops does not deactivate the job a second time") {
  QueueCluster cluster;
  cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "ac"}}}}}}});
  json status = cluster.admitted_status(minutes(6));
  status["conditions"].push_back(cluster.condition("Evicted", "True", "PodsReadyTimeout"));
  status["admissionChecks"] = {rejected_check()};
  cluster.put(kWorkloads, "wl", QueueCluster::workload({{"active", false}}, status));
  cluster.settle();
  // With its quota the check could answer the same again and again.
  CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"][0]["state"] == "Rejected");
  cluster.stop_job();
  cluster.settle();
  CHECK(cluster.status(kWorkloads, "wl")["admissionChecks"][0]["state"] == "Pending");
  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.settle();
  cluster.patch(kWorkloads, "wl", {{"status", cluster.reserved_status()}});
  cluster.settle();
  CHECK(cluster.workload_condition("DeactivationTarget").empty());
}

TEST_CASE("a job that muster has deactivated is deleted after its time and one that a person paused is not") {
  for (const char* reason : {"DeactivatedDueToRequeuingLimitExceeded", "Deactivated"}) {
    INFO(std::string(reason));
    QueueCluster cluster;
    cluster.put_queues();
    cluster.settings.queues.retain_deactivated = hours(1);
    cluster.put(kJobs, "train", {{"spec", {{"suspend", true}}}});
    json workload = QueueCluster::workload(
        {{"active", false}},
        {{"conditions",
          {cluster.condition("Evicted", "True", reason, seconds(0)),
           cluster.condition("QuotaReserved", "False", "Deactivated", seconds(0), "The workload is deactivated"),
           cluster.condition("Admitted", "False", "NoReservation", seconds(0), "The workload has no reservation")}}});
    workload["metadata"]["ownerReferences"] = controlled_by(kJobs, "train", "train-uid");
    cluster.put(kWorkloads, "wl", workload);
    const bool by_muster = std::string(reason) != "Deactivated";
    cluster.settle();
    CHECK(cluster.reconcile(QueueCluster::workload_key()).again_at.has_value() == by_muster);
    cluster.pass(hours(1) - seconds(1));
    CHECK(cluster.settle().empty());
    cluster.pass(seconds(1));
    CHECK(cluster.step() == (by_muster ? Texts{"delete jobs/train"} : Texts{}));
    CHECK(cluster.get(kJobs, "train").is_null() == by_muster);
  }
}

}  // namespace deactivation_test
