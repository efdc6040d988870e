// What `muster explain` tells a reader to do about a waiting Workload ends the wait.
#include <doctest/doctest.h>

#include "test/explain/explain_rows.h"

namespace muster::test::explain_remedies_test {
namespace {

using Change = std::function<void(ExplainCluster&)>;

struct Row {
  const char* cause;
  Change arrange;
  const char* reason;
  const char* remedy;  // a part of it
  Change follow;
};

json workload_with(const std::function<void(json& spec)>& change) {
  json workload = ExplainCluster::workload();
  change(workload["spec"]);
  return workload;
}

Change put_workload(const std::function<void(json& spec)>& change) {
  return [change](ExplainCluster& cluster) {
    cluster.put(kJobs, ExplainCluster::job());
    cluster.put(kWorkloads, workload_with(change));
  };
}

// The job was created again as the remedy says.
void create_again(ExplainCluster& cluster) {
  cluster.put(kWorkloads, ExplainCluster::workload());
}

json& pods(json& spec) {
  return spec["podSets"][0]["template"]["spec"];
}

Change put_queue(const json& spec) {
  return [spec](ExplainCluster& cluster) { cluster.put(kClusterQueues, ExplainCluster::cluster_queue(spec)); };
}

Change put_local_queue(const json& spec) {
  return [spec](ExplainCluster& cluster) { cluster.put(kLocalQueues, "lq", {{"spec", spec}}); };
}

Change both(const Change& one, const Change& other) {
  return [one, other](ExplainCluster& cluster) {
    one(cluster);
    other(cluster);
  };
}

const Change kWaits = put_workload([](json&) {});

void limit_range(ExplainCluster& cluster, const char* cpu) {
  cluster.put(kLimitRanges, {{"metadata", {{"name", "small"}}},
                             {"spec", {{"limits", {{{"type", "Container"}, {"max", {{"cpu", cpu}}}}}}}}});
}

const Row kRows[] = {
    {"a place in a topology", put_workload([](json& spec) {
       spec["podSets"][0]["topologyRequest"] = {{"required", "rack"}};
     }),
     "NoMatchingFlavor", "Create the job again without the annotations kueue.x-k8s.io/podset-*", create_again},
    {"a slice of a topology", put_workload([](json& spec) {
       spec["podSets"][0]["topologyRequest"] = {{"podSetSliceRequiredTopology", "rack"}, {"podSetSliceSize", 1}};
     }),
     "NoMatchingFlavor", "Create the job again without the annotations kueue.x-k8s.io/podset-*", create_again},
    {"devices", put_workload([](json& spec) {
       pods(spec)["resourceClaims"] = {{{"name", "gpu"}}};
     }),
     "Misconfigured", "Create the job again without resourceClaims", create_again},
    {"a taint",
     both(kWaits,
          [](ExplainCluster& cluster) {
            cluster.put(kResourceFlavors, "f1",
                        {{"spec", {{"nodeTaints", {{{"key", "spot"}, {"effect", "NoSchedule"}}}}}}});
          }),
     "NoMatchingFlavor", "Change tolerations", put_workload([](json& spec) {
       pods(spec)["tolerations"] = {{{"key", "spot"}, {"operator", "Exists"}}};
     })},
    {"a node selector",
     both(put_workload([](json& spec) {
            pods(spec)["nodeSelector"] = {{"gpu", "a100"}};
          }),
          [](ExplainCluster& cluster) {
            cluster.put(kResourceFlavors, "f1", {{"spec", {{"nodeLabels", {{"gpu", "t4"}}}}}});
          }),
     "NoMatchingFlavor", "node selector", create_again},
    {"a resource without quota",
     put_workload([](json& spec) { pods(spec)["containers"][0]["resources"]["requests"]["gpu"] = "1"; }),
     "NoMatchingFlavor", "requested resources", create_again},
    {"requests above limits", put_workload([](json& spec) {
       pods(spec)["containers"][0]["resources"]["limits"] = {{"cpu", "1"}};
     }),
     "Misconfigured", "Correct the requests and limits", create_again},
    {"a LimitRange", both(kWaits, [](ExplainCluster& cluster) { limit_range(cluster, "1"); }), "Misconfigured",
     "or the LimitRange that is named", [](ExplainCluster& cluster) { limit_range(cluster, "4"); }},
    {"more than the queue can have", put_workload([](json& spec) { spec["podSets"][0]["count"] = 9; }),
     "ExceedsMaxQuota", "Lower the requests or the parallelism", create_again},
    {"the same", put_workload([](json& spec) { spec["podSets"][0]["count"] = 9; }), "ExceedsMaxQuota",
     "raise nominalQuota",
     [](ExplainCluster& cluster) {
       json queue = cluster_queue_of({quota_of("f1", {{"cpu", "100"}})}, json::object());
       queue["metadata"]["name"] = "cq";
       cluster.put(kClusterQueues, queue);
     }},
    {"no such LocalQueue", put_workload([](json& spec) { spec["queueName"] = "other"; }), "LocalQueueMissing",
     "Create that LocalQueue",
     [](ExplainCluster& cluster) {
       cluster.put(kLocalQueues, "other", {{"spec", {{"clusterQueue", "cq"}}}});
     }},
    {"a stopped LocalQueue", both(kWaits, put_local_queue({{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}})), "",
     "set spec.stopPolicy of LocalQueue lq to None", put_local_queue({{"clusterQueue", "cq"}, {"stopPolicy", "None"}})},
    {"a stopped ClusterQueue", both(kWaits, put_queue({{"stopPolicy", "Hold"}})), "",
     "set spec.stopPolicy of ClusterQueue cq to None", put_queue({{"stopPolicy", "None"}})},
    {"a namespace that the queue does not take",
     both(kWaits, put_queue({{"namespaceSelector", {{"matchLabels", {{"team", "b"}}}}}})), "", "label the namespace",
     [](ExplainCluster& cluster) {
       cluster.put(kNamespaces, kNs, {{"metadata", {{"labels", {{"team", "b"}}}}}});
     }},
};

}  // namespace

TEST_CASE("explain: who follows the remedy is admitted") {
  for (const Row& row : kRows) {
    CAPTURE(row.cause);
    ExplainCluster cluster;
    row.arrange(cluster);
    cluster.decide();
    const auto admitted = [&] {
      const state::PendingDecision* decision = cluster.decisions.pending_decision_on(kNs, "job-train");
      return decision != nullptr && std::holds_alternative<scheduler::Admitted>(*decision);
    };
    CHECK_FALSE(admitted());
    const ExplainReply reply = cluster.ask();
    INFO(to_json(reply).dump());
    if (*row.reason != '\0') CHECK(reply.reason == row.reason);
    std::string remedies;
    for (const std::string& change : reply.change) remedies += change + "\n";
    CHECK(remedies.find(row.remedy) != std::string::npos);
    row.follow(cluster);
    cluster.decide();
    CHECK(admitted());
  }
}

}  // namespace muster::test::explain_remedies_test
