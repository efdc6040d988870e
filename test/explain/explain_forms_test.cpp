// Pods, groups of pods and sets of pods, asked about by their own names.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/naming/named_kind.h"
#include "jobs/workload_name.h"
#include "kinds/serving_types.h"
#include "test/explain/pod_objects.h"

namespace muster::test::explain_forms_test {
namespace {

bool tells(const ExplainReply& reply, const std::string& part) {
  return to_json(reply).dump().find(part) != std::string::npos;
}

TEST_CASE("explain forms: a pod in a queue has the answer of its Workload") {
  ExplainCluster cluster(with_all_kinds());
  cluster.put_other("holder", 0, "5", cluster.admitted());
  cluster.put(kQueuedPods, queued_pod_of("gated"));
  json workload = workload_of_pod("gated");
  workload["spec"]["podSets"][0]["template"] = ExplainCluster::pod_template("7");
  cluster.put(kWorkloads, workload);
  cluster.decide();
  const ExplainReply reply = cluster.ask(kPods, "gated");
  CHECK(reply.kind == "Pod");
  CHECK(reply.found);
  CHECK(reply.reason == "WaitingForQuota");
  CHECK(reply.headline.starts_with("Pod team-a/gated waits for quota in ClusterQueue cq"));
  CHECK(tells(reply, "pod-gated"));
  REQUIRE(reply.order);
  CHECK(reply.order->position == 1);
}

TEST_CASE("explain forms: an admitted pod says how far it is, and why the scheduler of Kubernetes has no node for it") {
  ExplainCluster cluster(with_all_kinds());
  json started = queued_pod_of("gated", {{"status", {{"phase", "Pending"}}}});
  started["spec"].erase("schedulingGates");
  started["status"]["conditions"] = {{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "Unschedulable"},
                                      {"message", "0/4 nodes are available"}}};
  cluster.put(kQueuedPods, started);
  cluster.put(kWorkloads, workload_of_pod("gated", cluster.admitted()));
  cluster.decide();
  ExplainReply reply = cluster.ask(kPods, "gated");
  CHECK(reply.reason == "PodsNotReady");
  CHECK(reply.headline == "Pod team-a/gated is admitted, and 0 of its 1 pods are ready.");
  CHECK(tells(reply, "0/4 nodes are available"));
  // The Workload has an answer too; what only readers of pods can see is not in it.
  reply = cluster.ask(kWorkloads, "pod-gated");
  CHECK(reply.headline == "Workload team-a/pod-gated is admitted, and 0 of its 1 pods are ready.");
  CHECK_FALSE(tells(reply, "nodes are available"));

  started["status"] = {{"phase", "Running"}, {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}};
  cluster.put(kQueuedPods, started);
  CHECK(cluster.ask(kPods, "gated").reason == "Running");
  cluster.put(kQueuedPods, queued_pod_of("gated"));
  CHECK(cluster.ask(kPods, "gated").reason == "Starting");
}

TEST_CASE("explain forms: a pod of a group says what the group waits for, and names no other pod") {
  ExplainCluster cluster(with_all_kinds());
  for (const char* name : {"one", "two"}) cluster.put(kQueuedPods, queued_pod_of(name, of_group("group", 3)));
  ExplainReply reply = cluster.ask(kPods, "one");
  CHECK(reply.reason == "PodGroupIncomplete");
  CHECK(tells(reply, "The group has 2 of 3 pods."));
  CHECK_FALSE(tells(reply, "two"));
  cluster.put(kWorkloads, workload_of_group("group", {"one", "two"}, cluster.admitted()));
  cluster.decide();
  reply = cluster.ask(kPods, "one");
  CHECK(reply.reason == "Starting");
  CHECK(tells(reply, "one of the pods of group group"));
  CHECK_FALSE(tells(reply, "two"));
  CHECK(cluster.ask(kWorkloads, "group").reason == "Starting");
}

TEST_CASE("explain forms: a pod that only says it is of a group learns nothing of that group's Workload") {
  ExplainCluster cluster(with_all_kinds());
  cluster.put(kQueuedPods, queued_pod_of("one", of_group("secret", 1)));
  cluster.put(kWorkloads, workload_of_group("secret", {"one"}, cluster.admitted()));
  cluster.put(kQueuedPods, queued_pod_of("spy", of_group("secret", 1)));
  // A Workload that is no group's, of the name.
  cluster.put(kWorkloads, ExplainCluster::workload(cluster.admitted(), "other"));
  cluster.put(kQueuedPods, queued_pod_of("spy2", of_group("other", 1)));
  cluster.decide();
  for (const char* name : {"spy", "spy2"}) {
    const ExplainReply reply = cluster.ask(kPods, name);
    INFO(to_json(reply).dump());
    CHECK(reply.reason != "Starting");
    CHECK_FALSE(tells(reply, "ClusterQueue"));
    CHECK_FALSE(tells(reply, "f1"));
  }
  // And the Workload of a pod that was made again is not that of its namesake.
  cluster.put(kWorkloads, workload_of_pod("gone", cluster.admitted()));
  cluster.put(kQueuedPods, queued_pod_of("gone", {{"metadata", {{"uid", "another"}}}}));
  CHECK(cluster.ask(kPods, "gone").reason == "WorkloadNotCreated");
}

TEST_CASE("explain forms: a pod without a Workload, a deleted one, and one that is not in a queue") {
  ExplainCluster cluster(with_all_kinds());
  cluster.put(kQueuedPods, queued_pod_of("new"));
  CHECK(cluster.ask(kPods, "new").reason == "WorkloadNotCreated");
  cluster.put(kQueuedPods,
              queued_pod_of("gold", {{"metadata", {{"labels", {{std::string(kPriorityClassLabel), "gold"}}}}}}));
  CHECK(cluster.ask(kPods, "gold").reason == "PriorityClassMissing");
  json running = queued_pod_of("running", {{"status", {{"phase", "Running"}}}});
  running["spec"].erase("schedulingGates");
  cluster.put(kQueuedPods, running);
  CHECK(cluster.ask(kPods, "running").reason == "Stopping");
  const ExplainReply none = cluster.ask(kPods, "none");
  CHECK_FALSE(none.found);
  CHECK(none.reason == "NotFound");
  ExplainCluster without;
  without.put(kQueuedPods, queued_pod_of("new"));
  CHECK(without.ask(kPods, "new").reason == "KindNotQueued");
}

TEST_CASE("explain forms: a StatefulSet and its pods") {
  ExplainCluster cluster(with_all_kinds());
  json set = {{"metadata", {{"name", "db"}, {"uid", "db-uid"}}},
              {"spec", {{"replicas", 2}, {"template", ExplainCluster::pod_template("3")}}}};
  cluster.put(kStatefulSets, set);
  CHECK(cluster.ask(kStatefulSets, "db").reason == "NoQueueName");
  set["metadata"]["labels"] = {{std::string(kQueueNameLabel), "lq"}};
  set["spec"]["replicas"] = 0;
  cluster.put(kStatefulSets, set);
  CHECK(cluster.ask(kStatefulSets, "db").reason == "NoReplicas");
  set["spec"]["replicas"] = 2;
  cluster.put(kStatefulSets, set);
  CHECK(cluster.ask(kStatefulSets, "db").reason == "WorkloadNotCreated");
  const std::string name = jobs::workload_name({"apps", "StatefulSet", "db", "db-uid"}, "", 253);
  const auto of_set = [&](const std::string& workload) {
    json made = workload_of_group(workload, {}, cluster.admitted());
    made["metadata"]["labels"] = {{std::string(kJobUidLabel), "db-uid"}};
    made["metadata"]["ownerReferences"] = {
        {{"apiVersion", "apps/v1"}, {"kind", "StatefulSet"}, {"name", "db"}, {"uid", "db-uid"}}};
    return made;
  };
  // What only says that it is of the set does not count.
  cluster.put(kWorkloads, of_set("forged"));
  CHECK(cluster.ask(kStatefulSets, "db").reason == "WorkloadNotCreated");
  cluster.put(kWorkloads, of_set(name));
  cluster.decide();
  const ExplainReply reply = cluster.ask(kStatefulSets, "db");
  CHECK(reply.reason == "PodsNotReady");
  CHECK(reply.headline.starts_with("StatefulSet team-a/db is admitted, and 0 of its 2 pods are ready."));
  CHECK(cluster.ask(kStatefulSets, "none").reason == "NotFound");

  json member =
      queued_pod_of("db-0", {{"metadata", {{"annotations", {{std::string(kSuspendingParent), "statefulset"}}}}}});
  member["metadata"]["ownerReferences"] = controlled_by(kStatefulSets, "db", "db-uid");
  cluster.put(kQueuedPods, member);
  const ExplainReply part = cluster.ask(kPods, "db-0");
  CHECK(part.reason == "OwnedByQueuedJob");
  CHECK(tells(part, "muster explain statefulset/db -n team-a"));
}

TEST_CASE("explain forms: a LeaderWorkerSet says of which group it speaks") {
  ExplainCluster cluster(with_all_kinds());
  cluster.put(kLeaderWorkerSets,
              {{"metadata", {{"name", "llm"}, {"uid", "llm-uid"}, {"labels", {{std::string(kQueueNameLabel), "lq"}}}}},
               {"spec",
                {{"replicas", 2},
                 {"leaderWorkerTemplate", {{"size", 2}, {"workerTemplate", ExplainCluster::pod_template("3")}}}}}});
  for (int group = 0; group < 2; ++group) {
    const std::string name = jobs::workload_name(
        {"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "llm-" + std::to_string(group), "llm-uid"}, "", 253);
    json made = workload_of_group(name, {}, group == 0 ? cluster.admitted() : json::object());
    made["metadata"]["labels"] = {{std::string(kJobUidLabel), "llm-uid"}};
    made["metadata"]["annotations"]["kueue.x-k8s.io/component-workload-index"] = std::to_string(group);
    made["metadata"]["ownerReferences"] = {{{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
                                            {"kind", "LeaderWorkerSet"},
                                            {"name", "llm"},
                                            {"uid", "llm-uid"}}};
    cluster.put(kWorkloads, made);
  }
  cluster.decide();
  const ExplainReply reply = cluster.ask(kLeaderWorkerSets, "llm");
  CHECK(reply.reason == "WaitingForQuota");
  REQUIRE_FALSE(reply.because.empty());
  CHECK(reply.because[0] ==
        "It has 2 groups with a Workload, each admitted as a whole: 1 are admitted. This is about group 1.");
}

TEST_CASE("explain forms: every kind of the table has an answer, whether there is such an object or not") {
  const ExplainCluster cluster(with_all_kinds()), plain;
  for (const jobs::NamedKind& kind : jobs::named_kinds()) {
    INFO(kind.singular());
    const ExplainReply reply = cluster.ask(*kind.type, "none");
    CHECK_FALSE(reply.found);
    CHECK(reply.reason == (kind.known == jobs::NamedKind::Known::kNone ? "KindNotWatched" : "NotFound"));
    CHECK(reply.kind == kind.type->kind);
    CHECK_FALSE(plain.ask(*kind.type, "none").headline.empty());
  }
}

}  // namespace
}  // namespace muster::test::explain_forms_test
