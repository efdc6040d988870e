// A queued Job in a cluster with one flavor; its Workload is made.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "test/reconcilers/job/job_cluster.h"

namespace muster::test {

inline const ObjectKey kTrain{&kJobs, "team-a", "train"};

struct Queued : JobCluster {
  Queued() {
    put(kResourceFlavors, "f", {{"spec", {{"nodeLabels", {{"pool", "a"}}}}}});
    put(kJobs, "train", queued_job(3));
    settle(kTrain);
    workload = names(kWorkloads).at(0);
  }
  void admit() {
    edit(kWorkloads, workload, [](json& object) {
      object["status"] = {{"admission", admission_of(3, {{"cpu", "f"}}, {{"cpu", "3"}})},
                          {"conditions", json::array({true_condition("QuotaReserved", "QuotaReserved"),
                                                      true_condition("Admitted", "Admitted")})}};
    });
  }
  void evict() {
    edit(kWorkloads, workload, [](json& object) {
      object["status"]["conditions"].push_back(true_condition("Evicted", "Preempted", "room"));
    });
  }
  void run() {
    edit(kJobs, "train", [](json& job) { job["status"] = {{"active", 3}, {"startTime", "2026-01-01T11:40:00Z"}}; });
  }
  bool runs() { return !get(kJobs, "train")["spec"].value("suspend", false); }
  std::string workload;
};

}  // namespace muster::test
