// A group of pods of which none is left, and its Workload, which garbage collection deletes later.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/pod/pod_workload.h"
#include "test/reconcilers/pod/group_member.h"
#include "test/reconcilers/pod/pod_vectors.h"

namespace empty_group_test {

using namespace muster;
using namespace muster::test;

TEST_CASE(
    "empty group: the quota of an evicted group returns with its last pod, and nobody gets it again for the group") {
  for (const bool evicted : {true, false}) {
    CAPTURE(evicted);
    JobCluster cluster = cluster_of_pods({{"config", json::object()}});
    cluster.reconcilers = {&reconcilers::pod_workload_reconciler};
    json gated = group_member();
    gated["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
    cluster.put(kQueuedPods, gated);
    cluster.settle_concerned();
    cluster.edit(kWorkloads, "group", [&](json& workload) {
      json conditions = {true_condition("QuotaReserved", "R"), true_condition("Admitted", "R")};
      if (evicted) conditions.push_back(true_condition("Evicted", "PodsReadyTimeout"));
      workload["status"] = {{"admission", admission_of(1, {{"cpu", "f1"}}, {{"cpu", 1}})}, {"conditions", conditions}};
    });
    cluster.vanish(kQueuedPods, "a");
    cluster.settle_concerned();
    CHECK(cluster.condition_of(kWorkloads, "group", "QuotaReserved").starts_with(evicted ? "False" : "True"));
    CHECK_FALSE(cluster.condition_of(kWorkloads, "group", "Requeued").starts_with("True"));
  }
}

TEST_CASE("a group's Workload has the submitter of its pods, where they have the same one") {
  for (const char* other : {"alice", "bob", ""}) {
    CAPTURE(other);
    JobCluster cluster = cluster_of_pods({{"config", json::object()}});
    cluster.reconcilers = {&reconcilers::pod_workload_reconciler};
    json first = group_member();
    first["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = "2";
    first["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
    json second = first;
    first["metadata"]["annotations"]["muster.batch/submitter"] = "alice";
    if (*other != '\0') second["metadata"]["annotations"]["muster.batch/submitter"] = other;
    second["metadata"]["name"] = "b";
    second["metadata"]["uid"] = "b-uid";
    cluster.put(kQueuedPods, first);
    cluster.put(kQueuedPods, second);
    cluster.settle_concerned();
    const json annotations = cluster.get(kWorkloads, "group")["metadata"]["annotations"];
    CHECK(annotations.value("muster.batch/submitter", "") == (std::string(other) == "alice" ? "alice" : ""));
  }
}

}  // namespace empty_group_test
