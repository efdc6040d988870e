// What `muster explain` tells a reader to do about a waiting Workload ends the wait.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>

#include "scheduler/decision.h"
#include "test/explain/remedy_rows.h"

namespace muster::test::explain_remedies_test {
using namespace remedy_rows;

namespace {

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

const Change kWaits = put_workload([](json&) {});

void limit_range(ExplainCluster& cluster, const char* cpu) {
  cluster.put(kLimitRanges, {{"metadata", {{"name", "small"}}},
                             {"spec", {{"limits", {{{"type", "Container"}, {"max", {{"cpu", cpu}}}}}}}}});
}

void put_flavors(ExplainCluster& cluster, const std::vector<const char*>& names) {
  std::vector<json> flavors;
  for (const char* name : names) flavors.push_back(quota_of(name, {{"cpu", "10"}}));
  const json rules = json::array({{{"name", "f1"}, {"timeoutMinutes", 15}}});
  json queue = cluster_queue_of(
      flavors,
      {{"flavorFungibility", {{"fallbackStrategy", {{"failurePolicy", "DeactivateWorkload"}, {"rules", rules}}}}}});
  queue["metadata"]["name"] = "cq";
  cluster.put(kClusterQueues, queue);
}

const Row kRows[] = {
    {Cause::kTopology, "a place in a topology", put_workload([](json& spec) {
       spec["podSets"][0]["topologyRequest"] = {{"required", "rack"}};
     }),
     "NoMatchingFlavor", "Create the job again without the annotations kueue.x-k8s.io/podset-*", create_again},
    {Cause::kTopology, "a slice of a topology", put_workload([](json& spec) {
       spec["podSets"][0]["topologyRequest"] = {{"podSetSliceRequiredTopology", "rack"}, {"podSetSliceSize", 1}};
     }),
     "NoMatchingFlavor", "Create the job again without the annotations kueue.x-k8s.io/podset-*", create_again},
    {Cause::kDevices, "devices", put_workload([](json& spec) {
       pods(spec)["resourceClaims"] = {{{"name", "gpu"}}};
     }),
     "Misconfigured", "Create the job again without resourceClaims", create_again},
    {Cause::kTaint, "a taint",
     both(kWaits,
          [](ExplainCluster& cluster) {
            cluster.put(kResourceFlavors, "f1",
                        {{"spec", {{"nodeTaints", {{{"key", "spot"}, {"effect", "NoSchedule"}}}}}}});
          }),
     "NoMatchingFlavor",
     "Add the toleration {\"effect\":\"NoSchedule\",\"key\":\"spot\",\"operator\":\"Exists\"}: kubectl -n team-a patch "
     "jobs "
     "train --type json -p '[{\"op\":\"add\",\"path\":\"/spec/template/spec/tolerations\",\"value\":[{",
     put_workload([](json& spec) {
       pods(spec)["tolerations"] = {{{"key", "spot"}, {"operator", "Exists"}}};
     })},
    {Cause::kAffinity, "a node selector",
     both(put_workload([](json& spec) {
            pods(spec)["nodeSelector"] = {{"gpu", "a100"}};
          }),
          [](ExplainCluster& cluster) {
            cluster.put(kResourceFlavors, "f1", {{"spec", {{"nodeLabels", {{"gpu", "t4"}}}}}});
          }),
     "NoMatchingFlavor",
     "node selector or affinity of the pods so that they allow gpu=t4 of flavor f1: kubectl -n team-a edit jobs train",
     create_again},
    {Cause::kResourceWithoutQuota, "a resource without quota",
     put_workload([](json& spec) { pods(spec)["containers"][0]["resources"]["requests"]["gpu"] = "1"; }),
     "NoMatchingFlavor", "Remove gpu from the requested resources of the pods: kubectl -n team-a edit jobs train",
     create_again},
    {Cause::kLimits, "requests above limits", put_workload([](json& spec) {
       pods(spec)["containers"][0]["resources"]["limits"] = {{"cpu", "1"}};
     }),
     "Misconfigured", "Correct the requests and limits of the pods: kubectl -n team-a edit jobs train", create_again},
    {Cause::kLimitRange, "a LimitRange", both(kWaits, [](ExplainCluster& cluster) { limit_range(cluster, "1"); }),
     "Misconfigured", "Change LimitRange small (an administrator): kubectl -n team-a edit limitrange small",
     [](ExplainCluster& cluster) { limit_range(cluster, "4"); }},
    {Cause::kQuotaTooSmall, "more than the queue can have",
     put_workload([](json& spec) { spec["podSets"][0]["count"] = 9; }), "ExceedsMaxQuota",
     "Lower the requests or the parallelism", create_again},
    {Cause::kQuotaTooSmall, "the same", put_workload([](json& spec) { spec["podSets"][0]["count"] = 9; }),
     "ExceedsMaxQuota", "Raise nominalQuota or borrowingLimit of cpu in flavor f1",
     [](ExplainCluster& cluster) {
       json queue = cluster_queue_of({quota_of("f1", {{"cpu", "100"}})}, json::object());
       queue["metadata"]["name"] = "cq";
       cluster.put(kClusterQueues, queue);
     }},
    {Cause::kLocalQueueMissing, "no such LocalQueue", put_workload([](json& spec) { spec["queueName"] = "other"; }),
     "LocalQueueMissing", "Create LocalQueue other (an administrator): kubectl muster create localqueue other",
     [](ExplainCluster& cluster) {
       cluster.put(kLocalQueues, "other", {{"spec", {{"clusterQueue", "cq"}}}});
     }},
    {Cause::kLocalQueueStopped, "a stopped LocalQueue",
     both(kWaits, put_local_queue({{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}})), "",
     "(an administrator): kubectl -n team-a patch localqueue lq --type merge -p '{\"spec\":{\"stopPolicy\":\"None\"}}'",
     put_local_queue({{"clusterQueue", "cq"}, {"stopPolicy", "None"}})},
    {Cause::kClusterQueueStopped, "a stopped ClusterQueue", both(kWaits, put_queue({{"stopPolicy", "Hold"}})), "",
     "(an administrator): kubectl patch clusterqueue cq --type merge -p '{\"spec\":{\"stopPolicy\":\"None\"}}'",
     put_queue({{"stopPolicy", "None"}})},
    {Cause::kNamespaceNotAdmitted, "a namespace that the queue does not take",
     both(kWaits, put_queue({{"namespaceSelector", {{"matchLabels", {{"team", "b"}}}}}})), "",
     "kubectl patch namespace team-a --type merge -p '{\"metadata\":{\"labels\":{\"team\":\"b\"}}}'",
     [](ExplainCluster& cluster) {
       cluster.put(kNamespaces, kNs, {{"metadata", {{"labels", {{"team", "b"}}}}}});
     }},
    {Cause::kLocalQueueMissing, "a LocalQueue that is nearly named",
     put_workload([](json& spec) { spec["queueName"] = "lqq"; }), "LocalQueueMissing",
     "Did you mean LocalQueue lq? Set it in the job's label: kubectl -n team-a label jobs train "
     "kueue.x-k8s.io/queue-name=lq --overwrite",
     create_again},
    {Cause::kWorkloadInNoQueue, "no LocalQueue", put_workload([](json& spec) { spec.erase("queueName"); }),
     "NoQueueName", "Queue its job in LocalQueue lq: kubectl -n team-a label jobs train kueue.x-k8s.io/queue-name=lq",
     create_again},
    {Cause::kClusterQueueMissing, "no such ClusterQueue",
     both(kWaits, [](ExplainCluster& cluster) { cluster.vanish(kClusterQueues, "cq"); }), "ClusterQueueMissing",
     "Create ClusterQueue cq (an administrator)", put_queue(json::object())},
    {Cause::kFlavorMissing, "no such flavor",
     both(kWaits,
          [](ExplainCluster& cluster) {
            cluster.vanish(kResourceFlavors, "f1");
            cluster.put(kResourceFlavors, "f10", json::object());
          }),
     "ClusterQueueInactive",
     "Did you mean ResourceFlavor f10 instead of f1? Correct the ClusterQueue (an administrator): kubectl edit "
     "clusterqueue cq",
     [](ExplainCluster& cluster) {
       json queue = cluster_queue_of({quota_of("f10", {{"cpu", "10"}})}, json::object());
       queue["metadata"]["name"] = "cq";
       cluster.put(kClusterQueues, queue);
     }},
    {Cause::kClusterQueueInactive, "no such admission check",
     both(kWaits, put_queue({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "budget"}}}}}}})),
     "ClusterQueueInactive",
     "remove them from the spec of the ClusterQueue (an administrator): kubectl edit clusterqueue",
     put_queue(json::object())},
    {Cause::kAdmissionGated, "a gate",
     [](ExplainCluster& cluster) {
       cluster.put(kJobs, ExplainCluster::job());
       cluster.put(kWorkloads,
                   ExplainCluster::workload({{"metadata", {{"annotations", {{kAdmissionGatedByAnnotation, "a/b"}}}}}}));
     },
     "AdmissionGated", "kubectl -n team-a annotate jobs train kueue.x-k8s.io/admission-gated-by-", create_again},
    {Cause::kResourceWithoutQuota, "a resource that is nearly named", put_workload([](json& spec) {
       pods(spec)["containers"][0]["resources"]["requests"] = {{"cpuu", "1"}};
     }),
     "NoMatchingFlavor", "Did you mean resource cpu instead of cpuu? Correct the requests", create_again},
    {Cause::kDeactivated, "deactivated", put_workload([](json& spec) { spec["active"] = false; }), "Deactivated",
     "kubectl -n team-a patch workload job-train --type merge -p '{\"spec\":{\"active\":true}}'", create_again},
    {Cause::kFlavorsFailed, "the only flavor has failed",
     [](ExplainCluster& cluster) {
       put_flavors(cluster, {"f1"});
       const json attempt = {{"resourceFlavor", "f1"},
                             {"assignmentTime", cluster.stamp(-20min)},
                             {"usedSeconds", 900},
                             {"failure", {{"reason", "TimeoutForPodsReadyExceeded"}, {"time", cluster.stamp(-5min)}}}};
       cluster.put(kJobs, ExplainCluster::job());
       cluster.put(kWorkloads,
                   ExplainCluster::workload({{"status",
                                              {{"flavorAssignmentHistory", json::array({attempt})},
                                               {"flavorFallback", {{"clusterQueue", "cq"}, {"round", 1}}}}}}));
     },
     "NoMatchingFlavor", "Add a flavor that has not failed for it (an administrator): kubectl edit clusterqueue cq",
     [](ExplainCluster& cluster) {
       cluster.put(kResourceFlavors, "f2", json::object());
       put_flavors(cluster, {"f1", "f2"});
     }},
    {Cause::kInvalid, "an owner that muster does not run",
     [](ExplainCluster& cluster) {
       json workload = ExplainCluster::workload();
       workload["metadata"]["ownerReferences"] = controlled_by("example.com/v1", "Task", "train", "task-uid");
       cluster.put(kWorkloads, workload);
     },
     "Misconfigured", "Correct what is named", create_again, &kWorkloads},
    {Cause::kQuotaInUse, "the quota is in use",
     both(kWaits,
          [](ExplainCluster& cluster) {
            json other = ExplainCluster::workload(cluster.admitted(), "held", "other", "other-uid");
            cluster.put(kWorkloads, other);
          }),
     "WaitingForQuota", "See who holds cpu: kubectl muster who cpu -q lq -n team-a",
     [](ExplainCluster& cluster) { cluster.vanish(kWorkloads, "held"); }},
};

}  // namespace

TEST_CASE("explain: who follows the remedy is admitted") {
  for (const Row& row : kRows) {
    CAPTURE(row.cause);
    ExplainCluster cluster;
    row.arrange(cluster);
    const ExplainReply reply = ask(row, cluster);
    const auto admitted = [&] {
      const state::PendingDecision* decision = cluster.decisions.pending_decision_on(kNs, "job-train");
      return decision != nullptr && std::holds_alternative<scheduler::Admitted>(*decision);
    };
    CHECK_FALSE(admitted());
    check_remedy(row, reply);
    row.follow(cluster);
    cluster.decide();
    CHECK(admitted());
  }
}

}  // namespace muster::test::explain_remedies_test

namespace muster::test::remedy_rows {

std::set<Cause> causes_of_admitted() {
  std::set<Cause> causes;
  for (const Row& row : explain_remedies_test::kRows) causes.insert(row.of);
  return causes;
}

}  // namespace muster::test::remedy_rows
