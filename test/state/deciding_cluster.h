// A cluster whose scheduler decides, and of which a test says what is written.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "reconcilers/workload/admission.h"
#include "scheduler/eligibility.h"
#include "scheduler/scheduler.h"
#include "state/scheduler_driver.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

using state::Inadmissible;
using state::PendingDecision;

// One ClusterQueue of 10 cpu in which higher priority evicts; Workloads of any size.
class DecidingCluster : public ReconciledCluster {
 public:
  explicit DecidingCluster(ReconcilerSettings given = {})
      : ReconciledCluster({&reconcilers::admission_reconciler}, std::move(given)) {
    put(kResourceFlavors, "f1", json::object());
    put(kClusterQueues, "cq",
        cluster_queue_of({quota_of("f1", {{"cpu", "10"}})},
                         {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}}));
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
  }

  void put_workload(const std::string& name, const char* cpu, int priority) {
    put(kWorkloads, name, workload_of(1, pod_template_of({{"cpu", cpu}}), {{"priority", priority}}));
  }
  void patch_workload(const std::string& name, const json& patch) { this->patch(kWorkloads, name, patch); }

  // The names about which there is something to write now.
  Texts decide() {
    std::vector<ObjectKey> keys;
    decisions.decide(now(), SIZE_MAX, keys);
    Texts names;
    for (const ObjectKey& key : keys) names.push_back(key.name);
    return names;
  }
  template <class T>
  const T* decision(const std::string& name) const {
    const PendingDecision* decision = decisions.pending_decision_on("team-a", name);
    return decision == nullptr ? nullptr : std::get_if<T>(decision);
  }
  reconcilers::Plan plan_of(const std::string& name) const { return reconcile(key(kWorkloads, name)); }
  void sent(const std::string& name) { decisions.sent(key(kWorkloads, name), now()); }
  // What the reconciler wants to write is written.
  void write(const std::string& name) {
    sent(name);
    REQUIRE(step(key(kWorkloads, name)) == Texts{"status workloads/" + name});
  }
  bool waits(const std::string& name) const {
    return scheduler::position_of(decisions.scheduler().state(), "team-a", name) != scheduler::QueuePosition::kNowhere;
  }
};

}  // namespace muster::test
