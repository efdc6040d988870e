// Queues, flavors, checks and one Workload "wl", with the reconcilers of all of them.
#pragma once

#include <chrono>
#include <string>

#include "reconcilers/queues/admission_check.h"
#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/queues/local_queue.h"
#include "reconcilers/queues/resource_flavor.h"
#include "reconcilers/workload/workload.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

inline constexpr const char* kInUse = "kueue.x-k8s.io/resource-in-use";

class QueueCluster : public ReconciledCluster {
 public:
  QueueCluster()
      : ReconciledCluster({&reconcilers::workload_reconciler, &reconcilers::cluster_queue_reconciler,
                           &reconcilers::local_queue_reconciler, &reconcilers::resource_flavor_reconciler,
                           &reconcilers::admission_check_reconciler}) {}

  static ObjectKey workload_key() { return key(kWorkloads, "wl"); }

  // One flavor, cpu 10 and memory 10Gi; the ClusterQueue "cq" and the LocalQueue "lq" to it.
  void put_queues(const json& cluster_queue_spec = json::object(), const json& local_queue_spec = json::object()) {
    put(kResourceFlavors, "f1", {{"metadata", {{"finalizers", {kInUse}}}}});
    json queue = cluster_queue_of({quota_of("f1", {{"cpu", "10"}, {"memory", "10Gi"}})}, cluster_queue_spec);
    queue["metadata"]["finalizers"] = {kInUse};
    put(kClusterQueues, "cq", std::move(queue));
    json local = {{"clusterQueue", "cq"}};
    local.merge_patch(local_queue_spec);
    put(kLocalQueues, "lq", {{"spec", local}});
  }
  static json workload(const json& spec = json::object(), const json& status = json::object()) {
    json object = workload_of(2, {{"spec", json::object()}}, spec);
    object["status"] = status;
    return object;
  }
  static json admission(const char* cpu = "2", const char* memory = "2Gi") {
    return admission_of(2, {{"cpu", "f1"}, {"memory", "f1"}}, {{"cpu", cpu}, {"memory", memory}});
  }
  json condition(const char* type, const char* status, const std::string& reason,
                 Duration ago = std::chrono::minutes(1), const char* message = "m") const {
    json made = condition_at(stamp(-ago), type, status, reason, message);
    const json workload = get(kWorkloads, "wl");
    made["observedGeneration"] = workload.is_null() ? json(1) : workload["metadata"]["generation"];
    return made;
  }
  json reserved_status(Duration ago = std::chrono::minutes(1)) const {
    return {{"admission", admission()}, {"conditions", {condition("QuotaReserved", "True", "QuotaReserved", ago)}}};
  }
  json admitted_status(Duration ago = std::chrono::minutes(1)) const {
    json status = reserved_status(ago);
    status["conditions"].push_back(condition("Admitted", "True", "Admitted", ago));
    return status;
  }

  std::string workload_condition(const std::string& of) const { return condition_of(kWorkloads, "wl", of); }
  json requeue_state() const { return status(kWorkloads, "wl").value("requeueState", json()); }

  using ReconciledCluster::settle;
  using ReconciledCluster::step;
  Texts step() { return step(workload_key()); }
  Texts settle() { return settle(workload_key()); }
  // What the job's reconciler does once the job has stopped.
  void stop_job() {
    const std::string evicted = workload_condition("Evicted").substr(5);
    const json before = status(kWorkloads, "wl");
    json kept = json::array();
    for (const json& each : before["conditions"]) {
      if (each["type"] == "Evicted" || each["type"] == "DeactivationTarget") kept.push_back(each);
    }
    kept.push_back(condition("Requeued", "False", evicted, {}));
    kept.push_back(condition("QuotaReserved", "False", "PendingEvaluation", {}));
    kept.push_back(condition("Admitted", "False", "NoReservation", {}, "The workload has no reservation"));
    patch(kWorkloads, "wl", {{"status", {{"admission", nullptr}, {"conditions", kept}}}});
  }
};

}  // namespace muster::test
