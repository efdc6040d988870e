// A Job of three pods with quota, and its pods.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "api/meta/constants.h"
#include "reconcilers/workload/workload.h"
#include "test/reconcilers/job/job_cluster.h"

namespace muster::test {

inline constexpr const char* kHeld = "example.com/held";

struct Running : ReconciledCluster {
  Running() : ReconciledCluster({&reconcilers::job_workload_reconciler, &reconcilers::workload_reconciler}) {
    put(kResourceFlavors, "f", json::object());
    put(kClusterQueues, "cq", cluster_queue_of({quota_of("f", {{"cpu", "9"}})}));
    put(kLocalQueues, "q", {{"spec", {{"clusterQueue", "cq"}}}});
    put(kJobs, "train", queued_job(3));
    settle(kTrain);
    workload = names(kWorkloads).at(0);
    edit(kWorkloads, workload, [](json& object) {
      object["status"] = {{"admission", admission_of(3, {{"cpu", "f"}}, {{"cpu", "3"}})},
                          {"conditions", json::array({true_condition("QuotaReserved", "QuotaReserved"),
                                                      true_condition("Admitted", "Admitted")})}};
      object["status"]["admission"]["clusterQueue"] = "cq";
    });
    settle(kTrain);
    edit(kJobs, "train", [](json& job) { job["status"] = {{"active", 1}, {"startTime", "2026-01-01T11:40:00Z"}}; });
    put(kPods, "train-0",
        {{"metadata", {{"labels", {{kControllerUidLabel, "job-uid"}}}}}, {"status", {{"phase", "Running"}}}});
  }
  ObjectKey workload_key() const { return key(kWorkloads, workload); }
  bool has_quota() const {
    const json object = get(kWorkloads, workload);
    return !object.is_null() && condition_of(kWorkloads, workload, "QuotaReserved").starts_with("True") &&
           !condition_of(kWorkloads, workload, "Finished").starts_with("True");
  }
  void evict() {
    edit(kWorkloads, workload, [](json& object) {
      object["status"]["conditions"].push_back(true_condition("Evicted", "Preempted", "room"));
    });
  }
  void delete_held() {
    edit(kJobs, "train", [](json& job) {
      job["metadata"]["finalizers"] = {kHeld};
      job["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
    });
  }
  // A pass and its writes, each minute.
  void live(std::chrono::minutes minutes) {
    for (int i = 0; i < minutes.count(); ++i) {
      settle(kTrain);
      settle(workload_key());
      pass(std::chrono::minutes(1));
    }
  }

  const ObjectKey kTrain{&kJobs, kNs, "train"};
  std::string workload;
};

}  // namespace muster::test
