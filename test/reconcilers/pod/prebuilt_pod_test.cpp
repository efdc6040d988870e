// A single pod whose user has made its Workload.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/pod/pod_workload.h"
#include "scheduler/eligibility.h"
#include "test/reconcilers/pod/pod_vectors.h"
#include "test/support/measurements.h"

namespace prebuilt_pod_test {

using namespace muster;
using namespace muster::test;

namespace {

json admitted() {
  return {{"admission", admission_of(1, {{"cpu", "f1"}}, {{"cpu", 1}})},
          {"conditions",
           {condition_at("2026-01-01T11:50:00Z", "QuotaReserved", "True", "R"),
            condition_at("2026-01-01T11:50:00Z", "Admitted", "True", "R")}}};
}

json pod_naming(const std::string& workload) {
  json spec = pod_template_of({{"cpu", "1"}})["spec"];
  spec["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}}};
  return {{"metadata",
           {{"name", "single"},
            {"uid", "pod-uid"},
            {"labels",
             {{"kueue.x-k8s.io/managed", "true"},
              {"kueue.x-k8s.io/queue-name", "q"},
              {"kueue.x-k8s.io/prebuilt-workload-name", workload}}}}},
          {"spec", spec}};
}

json workload_asking(const char* cpu) {
  return workload_of(1, pod_template_of({{"cpu", cpu}}), {{"queueName", "q"}});
}

struct Cluster : JobCluster {
  Cluster() : JobCluster(cluster_of_pods({{"config", json::object()}})) {
    reconcilers = {&muster::reconcilers::pod_workload_reconciler};
  }
  bool waits() { return !array_at(get(kQueuedPods, "single"), {"spec", "schedulingGates"}).empty(); }
};

}  // namespace

TEST_CASE("prebuilt pod: it starts and ends on the Workload that it names, whichever was there first") {
  for (const bool pod_first : {false, true}) {
    CAPTURE(pod_first);
    Cluster cluster;
    if (pod_first) {
      cluster.put(kQueuedPods, pod_naming("mine"));
      cluster.settle_concerned();
      CHECK(cluster.names(kWorkloads).empty());
    }
    cluster.put(kWorkloads, "mine", workload_asking("1"));
    if (!pod_first) cluster.put(kQueuedPods, pod_naming("mine"));
    cluster.settle_concerned();
    CHECK(cluster.get(kWorkloads, "mine")["metadata"]["ownerReferences"][0]["uid"] == "pod-uid");
    CHECK(cluster.waits());

    cluster.edit(kWorkloads, "mine", [](json& workload) { workload["status"] = admitted(); });
    cluster.settle_concerned();
    CHECK_FALSE(cluster.waits());
    CHECK(to_texts(cluster.measurements) == Texts{"PodUngated cq gate=kueue.x-k8s.io/admission 600s"});
    CHECK(cluster.names(kWorkloads).size() == 1);

    cluster.edit(kQueuedPods, "single", [](json& pod) { pod["status"]["phase"] = "Succeeded"; });
    cluster.settle_concerned();
    CHECK(cluster.condition_of(kWorkloads, "mine", "Finished") == "True Succeeded");
  }
}

TEST_CASE("prebuilt pod: a Workload that asks for less than the pod, or is another's, does not start it") {
  struct Row {
    const char* name;
    json workload;
    const char* event;
  };
  json others = workload_asking("1");
  others["metadata"]["ownerReferences"] = controlled_by(kJobs, "train", "job-uid");
  const Row rows[] = {{"less", workload_asking("100m"), "PrebuiltWorkloadOutOfSync"},
                      {"another's", others, "PrebuiltWorkloadTaken"}};
  for (const Row& row : rows) {
    INFO(row.name);
    Cluster cluster;
    json workload = row.workload;
    workload["status"] = admitted();
    cluster.put(kWorkloads, "mine", workload);
    cluster.put(kQueuedPods, pod_naming("mine"));
    cluster.settle_concerned();
    CHECK(cluster.waits());
    CHECK(cluster.count_events(row.event) > 0);
  }
}

}  // namespace prebuilt_pod_test
