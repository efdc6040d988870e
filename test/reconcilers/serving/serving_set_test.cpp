// Sets that serve, step by step: what is written on their Workloads and pods, and what is never done.
#include "test/reconcilers/serving/serving_cluster.h"
#include "test/support/measurements.h"
namespace serving_set_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using namespace muster::test::serving;
using nlohmann::json;

TEST_CASE("serving sets: the pods of a StatefulSet are one group, and its quota is theirs until the last is gone") {
  Cluster cluster;
  cluster.put(kStatefulSets, stateful_set_of(2));
  cluster.put(kQueuedPods, pod_of(0));
  cluster.settle_all();
  CHECK(cluster.count() == 2);
  CHECK(cluster.waits("srv-0"));
  CHECK(to_texts(std::exchange(cluster.measurements, {})) == Texts{"WorkloadCreated kind=StatefulSet"});
  cluster.admit(2);
  cluster.settle_all();
  CHECK_FALSE(cluster.waits("srv-0"));
  // Since 11:50.
  CHECK(to_texts(cluster.measurements) == Texts{"PodUngated cq gate=kueue.x-k8s.io/admission group 600s"});
  cluster.run("srv-0");
  cluster.put(kQueuedPods, pod_of(1));
  cluster.settle_all();
  CHECK_FALSE(cluster.waits("srv-1"));

  cluster.put(kStatefulSets, stateful_set_of(0));
  cluster.settle_all();
  CHECK(cluster.reserved() == "True R");
  cluster.vanish(kQueuedPods, "srv-1");
  cluster.vanish(kQueuedPods, "srv-0");
  cluster.settle_all();
  CHECK(cluster.reserved() == "False OnHold");
  cluster.put(kStatefulSets, stateful_set_of(5));
  cluster.settle_all();
  CHECK(cluster.reserved() == "False PendingEvaluation");
  CHECK(cluster.count() == 5);
}

TEST_CASE("serving sets: the Workload has the submitter of the set, and not that of its pods") {
  Cluster cluster;
  json set = stateful_set_of(1);
  set["metadata"]["annotations"]["muster.batch/submitter"] = "alice";
  cluster.put(kStatefulSets, set);
  json pod = pod_of(0);
  pod["metadata"]["annotations"]["muster.batch/submitter"] = "system:serviceaccount:kube-system:statefulset-controller";
  cluster.put(kQueuedPods, pod);
  cluster.settle_all();
  CHECK(cluster.get(kWorkloads, kWorkload)["metadata"]["annotations"]["muster.batch/submitter"] == "alice");
}

TEST_CASE("serving sets: a pod that can be losing its gate holds the quota of a set that is scaled to zero") {
  Cluster cluster;
  cluster.admit_set_of_one();
  cluster.put(kStatefulSets, stateful_set_of(0));
  // The write that removes the gate is on its way.
  cluster.reconcilers = {&serving_set_reconciler};
  CHECK(cluster.step({&kStatefulSets, "team-a", "srv"}).empty());
  CHECK(cluster.reserved() == "True R");
  cluster.vanish(kQueuedPods, "srv-0");
  cluster.settle_all();
  CHECK(cluster.reserved() == "False OnHold");
}

TEST_CASE("serving sets: one that a finalizer holds in its deletion gives back the quota that no pod uses") {
  for (const bool evicted : {false, true}) {
    CAPTURE(evicted);
    Cluster cluster;
    cluster.admit_set_of_one();
    cluster.settle_all();
    cluster.run("srv-0");
    cluster.edit(kStatefulSets, "srv", [](json& set) {
      set["metadata"]["finalizers"] = {"example.com/held"};
      set["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
    });
    if (evicted) {
      cluster.edit(kWorkloads, kWorkload, [](json& workload) {
        workload["status"]["conditions"].push_back(condition("Evicted", "Preempted"));
      });
    }
    cluster.settle_all();
    CHECK(cluster.reserved() == "True R");
    cluster.vanish(kQueuedPods, "srv-0");
    cluster.settle_all();
    CHECK(cluster.reserved().starts_with("False"));
  }
}

TEST_CASE("serving sets: a set that changes its queue while none of its pods serves moves with its Workload") {
  for (const bool serves : {false, true}) {
    CAPTURE(serves);
    Cluster cluster;
    cluster.admit_set_of_one();
    cluster.settle_all();
    REQUIRE_FALSE(cluster.waits("srv-0"));
    cluster.edit(kQueuedPods, "srv-0", [&](json& pod) {
      pod["status"] = {{"phase", "Running"}, {"conditions", json::array()}};
      pod["spec"]["nodeName"] = "n";
      if (serves) pod["status"]["conditions"].push_back({{"type", "Ready"}, {"status", "True"}});
    });
    cluster.edit(kStatefulSets, "srv",
                 [](json& set) { set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q2"; });
    cluster.settle_all();
    CHECK(cluster.reserved() == "True R");
    CHECK(cluster.get(kWorkloads, kWorkload)["spec"]["queueName"] == "q");
    if (serves) {
      CHECK(cluster.condition_of(kWorkloads, kWorkload, "Evicted").empty());
      continue;
    }
    CHECK(cluster.condition_of(kWorkloads, kWorkload, "Evicted") == "True QueueChanged");
    cluster.vanish(kQueuedPods, "srv-0");
    cluster.put(kQueuedPods, pod_of(0));
    cluster.settle_all();
    CHECK(cluster.get(kWorkloads, kWorkload)["spec"]["queueName"] == "q2");
    CHECK(cluster.reserved().starts_with("False "));
    CHECK(cluster.condition_of(kWorkloads, kWorkload, "Requeued") == "True QueueChanged");
    CHECK(cluster.waits("srv-0"));
  }
}

TEST_CASE("serving sets: quota that no pod has used is given back when the queue changes") {
  Cluster cluster;
  cluster.admit_set_of_one();
  cluster.edit(kWorkloads, kWorkload, [](json& workload) { workload["status"]["conditions"].erase(1); });
  cluster.edit(kStatefulSets, "srv", [](json& set) { set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "q2"; });
  cluster.settle_all();
  CHECK(cluster.reserved() == "False PendingEvaluation");
  CHECK(cluster.get(kWorkloads, kWorkload)["spec"]["queueName"] == "q2");
}

TEST_CASE("serving sets: pods that are too many wait, and a reservation of another size goes back when nobody runs") {
  Cluster cluster;
  cluster.admit_set_of_one();
  cluster.settle_all();
  cluster.run("srv-0");
  cluster.put(kStatefulSets, stateful_set_of(3));
  cluster.put(kQueuedPods, pod_of(1));
  cluster.put(kQueuedPods, pod_of(2));
  cluster.settle_all();
  CHECK_FALSE(cluster.waits("srv-0"));
  for (const char* more : {"srv-1", "srv-2"}) {
    CHECK(cluster.waits(more));
    CHECK_FALSE(cluster.get(kQueuedPods, more)["metadata"].contains("deletionTimestamp"));
  }
  CHECK(cluster.events.back().reason == "ReplicasChanged");
  // The only one that ran is gone: all of them ask together.
  cluster.vanish(kQueuedPods, "srv-0");
  cluster.settle_all();
  CHECK(cluster.reserved() == "False PendingEvaluation");
  CHECK(cluster.count() == 3);
  CHECK(cluster.waits("srv-1"));
}

TEST_CASE("serving sets: whatever becomes of a set no pod of it is started without quota") {
  for (const char* what : {"update", "partition", "on delete", "gone", "deleting"}) {
    INFO(what);
    Cluster cluster;
    json set = stateful_set_of(2);
    cluster.put(kStatefulSets, set);
    cluster.put(kQueuedPods, pod_of(0));
    cluster.put(kQueuedPods, pod_of(1));
    cluster.settle_all();
    set["status"] = {{"currentRevision", "rev1"}, {"updateRevision", "rev2"}, {"replicas", 2}};
    if (what == std::string("partition")) set["spec"]["updateStrategy"] = {{"rollingUpdate", {{"partition", 1}}}};
    if (what == std::string("on delete")) set["spec"]["updateStrategy"] = {{"type", "OnDelete"}};
    if (what == std::string("deleting")) {
      set["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
      set["metadata"]["finalizers"] = {"foregroundDeletion"};
    }
    cluster.put(kStatefulSets, set);
    if (what == std::string("gone")) cluster.remove(kStatefulSets, "srv");
    cluster.settle_all();
    CHECK(cluster.waits("srv-0"));
    CHECK(cluster.waits("srv-1"));
    // Those that the update makes again.
    const auto deleted = [&](const char* name) {
      return cluster.get(kQueuedPods, name)["metadata"].contains("deletionTimestamp");
    };
    CHECK(deleted("srv-0") == (what == std::string("update")));
    CHECK(deleted("srv-1") == (what == std::string("update") || what == std::string("partition")));
  }
}

TEST_CASE("serving sets: a partition counts from the first ordinal") {
  for (const int partition : {0, 1, 2}) {
    CAPTURE(partition);
    Cluster cluster;
    json set = stateful_set_of(2);
    set["spec"]["ordinals"] = {{"start", 5}};
    set["spec"]["updateStrategy"] = {{"rollingUpdate", {{"partition", partition}}}};
    set["status"] = {{"currentRevision", "rev1"}, {"updateRevision", "rev2"}, {"replicas", 2}};
    cluster.put(kStatefulSets, set);
    cluster.put(kQueuedPods, pod_of(5));
    cluster.put(kQueuedPods, pod_of(6));
    cluster.settle_all();
    for (const int ordinal : {5, 6}) {
      const json pod = cluster.get(kQueuedPods, "srv-" + std::to_string(ordinal));
      CHECK(pod["metadata"].contains("deletionTimestamp") == (ordinal >= 5 + partition));
    }
  }
}

TEST_CASE("serving sets: an update deletes the pods that wait once, and a Workload that is refused is the set's") {
  Cluster cluster;
  json set = stateful_set_of(2);
  cluster.put(kStatefulSets, set);
  cluster.put(kQueuedPods, pod_of(0));
  const Plan made = cluster.reconcile({&kStatefulSets, "team-a", "srv"});
  REQUIRE_FALSE(made.writes.empty());
  CHECK(made.writes[0].verb == Verb::kCreate);
  CHECK(made.writes[0].maker == state::Maker{kUid, "Workloads"});
  cluster.settle_all();
  set["status"] = {{"currentRevision", "rev1"}, {"updateRevision", "rev2"}, {"replicas", 2}};
  cluster.put(kStatefulSets, set);
  cluster.reconcilers = {&serving_set_reconciler};
  const Plan update = cluster.reconcile({&kStatefulSets, "team-a", "srv"});
  REQUIRE(update.writes.size() == 1);
  CHECK(update.writes[0].verb == Verb::kDelete);
  CHECK(update.writes[0].maker == state::Maker{kUid, "pods before rev2"});
}

TEST_CASE("serving sets: a LeaderWorkerSet whose templates the webhook has marked gets a Workload for each group") {
  Cluster cluster;
  json set = leader_worker_set_of(100);
  cluster.put(kLeaderWorkerSets, set);
  // Not all at once.
  CHECK(cluster.step({&kLeaderWorkerSets, "team-a", "llm"}).size() == 32);
  cluster.settle({&kLeaderWorkerSets, "team-a", "llm"});
  CHECK(cluster.list(kWorkloads).size() == 100);
  // Others of a forged index or name are left alone.
  json forged = cluster.list(kWorkloads)[0];
  forged["metadata"]["name"] = "mine";
  forged["metadata"]["uid"] = "mine";
  forged["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"] = "7000";
  cluster.put(kWorkloads, forged);
  set["spec"]["replicas"] = 1;
  cluster.put(kLeaderWorkerSets, set);
  cluster.settle({&kLeaderWorkerSets, "team-a", "llm"});
  int left = 0;
  for (const json& workload : cluster.list(kWorkloads))
    left += workload["metadata"].contains("deletionTimestamp") ? 0 : 1;
  CHECK(left == 2);
  CHECK_FALSE(cluster.get(kWorkloads, "mine")["metadata"].contains("deletionTimestamp"));
}

TEST_CASE(
    "serving sets: a set of a million groups has few Workloads that wait, and others when some of these have quota") {
  Cluster cluster;
  json set = leader_worker_set_of(1'000'000);
  cluster.put(kLeaderWorkerSets, set);
  const ObjectKey key{&kLeaderWorkerSets, "team-a", "llm"};
  cluster.step(key);
  CHECK(cluster.events.size() >= 1);
  for (int round = 0; round < 10; ++round) cluster.step(key);
  REQUIRE(cluster.list(kWorkloads).size() == 128);

  // Those that have quota make room for others, also when theirs are the highest numbers.
  const auto index_of = [](const json& workload) {
    return std::stoi(workload["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"].get<std::string>());
  };
  for (const json& workload : cluster.list(kWorkloads)) {
    if (index_of(workload) < 98) continue;
    cluster.edit(kWorkloads, workload["metadata"]["name"], [](json& admitted) {
      admitted["status"] = {
          {"admission", {{"clusterQueue", "cq"}, {"podSetAssignments", {{{"name", "main"}, {"count", 2}}}}}},
          {"conditions", {condition("QuotaReserved", "R")}}};
    });
  }
  for (int round = 0; round < 10; ++round) cluster.step(key);
  CHECK(cluster.list(kWorkloads).size() == 158);
  int highest = 0;
  for (const json& workload : cluster.list(kWorkloads)) highest = std::max(highest, index_of(workload));
  CHECK(highest == 157);

  // Of a smaller set the others go.
  set["spec"]["replicas"] = 3;
  cluster.put(kLeaderWorkerSets, set);
  cluster.step(key);
  int left = 0;
  for (const json& workload : cluster.list(kWorkloads))
    left += workload["metadata"].contains("deletionTimestamp") ? 0 : 1;
  CHECK(left == 3);
}

TEST_CASE("serving sets: a set that another object has made, or that is evicted without pods") {
  Cluster cluster;
  json set = stateful_set_of(2);
  set["spec"]["template"]["metadata"]["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] =
      "leaderworkerset.x-k8s.io/leaderworkerset";
  cluster.put(kStatefulSets, set);
  cluster.settle_all();
  CHECK(cluster.list(kWorkloads).empty());
  cluster.put(kStatefulSets, stateful_set_of(2));
  cluster.settle_all();
  cluster.admit(2);
  cluster.edit(kWorkloads, kWorkload,
               [](json& workload) { workload["status"]["conditions"].push_back(condition("Evicted", "Preempted")); });
  cluster.settle_all();
  CHECK(cluster.reserved() == "False PendingEvaluation");
}

}  // namespace serving_set_test
