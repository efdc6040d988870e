// StatefulSets and LeaderWorkerSets in a queue, with their Workloads and pods.
#pragma once

#include <doctest/doctest.h>

#include "api/meta/constants.h"
#include "kinds/serving_types.h"
#include "reconcilers/pod/pod_workload.h"
#include "reconcilers/serving/serving_set.h"
#include "test/reconcilers/pod/pod_vectors.h"

namespace muster::test::serving {

using namespace muster::reconcilers;

inline constexpr const char* kUid = "99999999-2222-4333-8444-555555555555";
inline constexpr const char* kWorkload = "statefulset-srv-80af3";

inline json condition(const char* type, const char* reason) {
  return condition_at("2026-01-01T11:50:00Z", type, "True", reason);
}

inline json spec_of_pods(const char* cpu) {
  return pod_template_of({{"cpu", cpu}})["spec"];
}

inline json stateful_set_of(int replicas) {
  return {{"metadata", {{"name", "srv"}, {"uid", kUid}, {"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
          {"spec", {{"replicas", replicas}, {"template", {{"spec", spec_of_pods("1")}}}}}};
}

// With the mark of the webhook.
inline json leader_worker_set_of(int replicas) {
  const json marks = {{"kueue.x-k8s.io/pod-suspending-parent", "leaderworkerset.x-k8s.io/leaderworkerset"}};
  const json workers = {{"metadata", {{"annotations", marks}}}, {"spec", spec_of_pods("1")}};
  return {{"metadata", {{"name", "llm"}, {"uid", kUid}, {"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
          {"spec", {{"replicas", replicas}, {"leaderWorkerTemplate", {{"size", 2}, {"workerTemplate", workers}}}}}};
}

inline json pod_of(int index, const char* revision = "rev1") {
  const std::string name = "srv-" + std::to_string(index);
  json spec = spec_of_pods("1");
  spec["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
  return {{"metadata",
           {{"name", name},
            {"finalizers", {kKubelet}},
            {"labels",
             {{"kueue.x-k8s.io/managed", "true"},
              {"apps.kubernetes.io/pod-index", std::to_string(index)},
              {"controller-revision-hash", revision}}},
            {"annotations", {{"kueue.x-k8s.io/pod-suspending-parent", "statefulset"}}},
            {"ownerReferences", controlled_by(kStatefulSets, "srv", kUid)}}},
          {"spec", spec}};
}

struct Cluster : JobCluster {
  Cluster() : JobCluster(cluster_of_pods({{"config", json::object()}})) { reconcilers = {&serving_set_reconciler}; }

  void settle_all() {
    for (int round = 0; round < 10; ++round) {
      reconcilers = {&serving_set_reconciler};
      size_t wanted = step({&kStatefulSets, "team-a", "srv"}).size();
      reconcilers = {&pod_workload_reconciler};
      for (const std::string& pod : names(kQueuedPods)) wanted += step({&kQueuedPods, "team-a", pod}).size();
      for (const std::string& workload : names(kWorkloads)) wanted += step({&kPodGroups, "team-a", workload}).size();
      if (wanted == 0) return;
    }
    FAIL("does not come to rest");
  }
  void admit(int pods) {
    edit(kWorkloads, kWorkload, [&](json& workload) {
      workload["status"] = {{"admission", admission_of(pods, {{"cpu", "f1"}}, {{"cpu", pods}})},
                            {"conditions", {condition("QuotaReserved", "R"), condition("Admitted", "R")}}};
    });
  }
  // Its pod still has its gate.
  void admit_set_of_one() {
    put(kStatefulSets, stateful_set_of(1));
    put(kQueuedPods, pod_of(0));
    settle_all();
    admit(1);
  }
  void run(const std::string& name) {
    edit(kQueuedPods, name, [](json& pod) {
      pod["spec"]["nodeName"] = "n";
      pod["status"]["phase"] = "Running";
    });
  }
  bool waits(const std::string& name) { return !array_at(get(kQueuedPods, name), {"spec", "schedulingGates"}).empty(); }
  std::string reserved() { return condition_of(kWorkloads, kWorkload, "QuotaReserved"); }
  int count() { return get(kWorkloads, kWorkload)["spec"]["podSets"][0]["count"]; }
};

}  // namespace muster::test::serving
