// Workloads of sets that an older Kueue has made.
#include "test/reconcilers/serving/serving_cluster.h"

namespace older_workloads_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using namespace muster::test::serving;
using nlohmann::json;

// Kueue before 0.17 named it without the uid of the set, and its pods' group with it.
TEST_CASE("serving sets: the Workload of an older Kueue is adopted, and the set gets no second one") {
  const std::string older = "statefulset-srv-31f0d";
  const json pods = {{{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "srv-0"}, {"uid", "srv-0-uid"}}};
  for (const bool admitted : {false, true}) {
    CAPTURE(admitted);
    Cluster cluster;
    json workload = workload_of(2, pod_template_of({{"cpu", "1"}}), {{"queueName", "q"}});
    workload["metadata"] = {{"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}}, {"ownerReferences", pods}};
    if (admitted) {
      workload["status"] = {{"admission", admission_of(2, {{"cpu", "f1"}}, {{"cpu", 2}})},
                            {"conditions", {condition("QuotaReserved", "R"), condition("Admitted", "R")}}};
    }
    cluster.put(kWorkloads, older, workload);
    cluster.put(kStatefulSets, stateful_set_of(2));
    cluster.put(kQueuedPods, pod_of(0));
    cluster.settle_all();
    CHECK(cluster.names(kWorkloads) == Texts{older});
    const json metadata = cluster.get(kWorkloads, older)["metadata"];
    CHECK(metadata["labels"]["kueue.x-k8s.io/job-uid"] == kUid);
    CHECK(metadata["ownerReferences"].size() == 2);
    // A new pod joins the group.
    CHECK(cluster.get(kQueuedPods, "srv-0")["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-name"] == older);
    CHECK(cluster.waits("srv-0") == !admitted);
  }
}

// As a user could make it, and have it admitted before the set is there.
TEST_CASE("serving sets: an older Workload that was admitted with smaller requests starts no pod of the set") {
  Cluster cluster;
  json workload = workload_of(2, pod_template_of({{"cpu", "1m"}}), {{"queueName", "q"}});
  workload["metadata"] = {{"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}}};
  workload["status"] = {{"admission", admission_of(2, {{"cpu", "f1"}}, {{"cpu", "2m"}})},
                        {"conditions", {condition("QuotaReserved", "R"), condition("Admitted", "R")}}};
  cluster.put(kWorkloads, "statefulset-srv-31f0d", workload);
  cluster.put(kStatefulSets, stateful_set_of(2));
  cluster.put(kQueuedPods, pod_of(0));
  cluster.settle_all();
  CHECK(cluster.waits("srv-0"));
  CHECK(cluster.count_events("FailedToStart") > 0);
}

// Some releases of Kueue wrote the uid into the name and not into the label.
TEST_CASE("serving sets: a Workload of the right name without a mark is adopted") {
  Cluster cluster;
  json workload = workload_of(1, pod_template_of({{"cpu", "1"}}), {{"queueName", "q"}});
  workload["metadata"] = {{"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}}};
  cluster.put(kWorkloads, kWorkload, workload);
  cluster.put(kStatefulSets, stateful_set_of(2));
  cluster.settle_all();
  CHECK(cluster.names(kWorkloads) == Texts{kWorkload});
  CHECK(cluster.count() == 2);
  CHECK(cluster.count_events("WorkloadNameConflict") == 0);
}

TEST_CASE("serving sets: the Workload of another set of the name, or of a user's group of pods, is not adopted") {
  for (const bool of_group : {false, true}) {
    CAPTURE(of_group);
    Cluster cluster;
    json workload = workload_of(2, pod_template_of({{"cpu", "1"}}), {{"queueName", "q"}});
    workload["metadata"] = {{"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}}};
    if (of_group) {
      json pod = pod_of(7);
      pod["metadata"].erase("ownerReferences");
      pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = "statefulset-srv-31f0d";
      cluster.put(kQueuedPods, pod);
    } else {
      workload["metadata"]["labels"] = {{"kueue.x-k8s.io/job-uid", "another-uid"}};
    }
    cluster.put(kWorkloads, "statefulset-srv-31f0d", workload);
    cluster.put(kStatefulSets, stateful_set_of(2));
    cluster.settle_all();
    CHECK(cluster.names(kWorkloads).size() == 2);
    CHECK(cluster.count() == 2);
  }
}

}  // namespace older_workloads_test
