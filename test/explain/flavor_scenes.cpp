#include "test/explain/reason_scenes.h"

namespace muster::test {
namespace {

json flavor(const char* name) {
  return quota_of(name, {{"cpu", "10"}});
}

json strategy(const char* policy) {
  return {{"flavorFungibility",
           {{"fallbackStrategy", {{"failurePolicy", policy}, {"rules", {{{"name", "f1"}, {"timeoutMinutes", 15}}}}}}}}};
}

void put_flavors(ExplainCluster& cluster, const char* policy, bool second = true) {
  cluster.put(kResourceFlavors, {{"metadata", {{"name", "f2"}}}});
  json queue = ExplainCluster::cluster_queue(strategy(policy));
  json& flavors = queue["spec"]["resourceGroups"][0]["flavors"];
  flavors = json::array({flavor("f1")});
  if (second) flavors.push_back(flavor("f2"));
  cluster.put(kClusterQueues, queue);
}

json attempt(const ExplainCluster& cluster, const char* name, Duration assigned_ago, int used,
             Duration failed_ago = 0s) {
  const auto ago = [&](Duration age) { return cluster.stamp(-age); };
  json made = {{"resourceFlavor", name}, {"assignmentTime", ago(assigned_ago)}, {"usedSeconds", used}};
  if (failed_ago > 0s) made["failure"] = {{"reason", "TimeoutForPodsReadyExceeded"}, {"time", ago(failed_ago)}};
  return made;
}

json history(json attempts, int round = 1) {
  return {{"flavorAssignmentHistory", std::move(attempts)},
          {"flavorFallback", {{"clusterQueue", "cq"}, {"round", round}}}};
}

std::function<void(ExplainCluster&)> starting(const char* policy, bool second) {
  return [policy, second](ExplainCluster& cluster) {
    put_flavors(cluster, policy, second);
    cluster.put(kJobs, ExplainCluster::job({{"spec", {{"suspend", false}}}, {"status", {{"active", 2}}}}));
    json status = cluster.admitted(json::array({cluster.condition("PodsReady", false, "WaitForStart")}));
    status["status"].update(history(json::array({attempt(cluster, "f1", 1min, 120)})));
    cluster.put(kWorkloads, ExplainCluster::workload(status));
  };
}

std::function<void(ExplainCluster&)> waiting(const char* policy) {
  return [policy](ExplainCluster& cluster) {
    put_flavors(cluster, policy);
    cluster.put_other("big", 1, "5", cluster.admitted());
    json other = cluster.admitted();
    other["status"]["admission"]["podSetAssignments"][0]["flavors"]["cpu"] = "f2";
    other["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] = "10";
    cluster.put_other("full", 2, "5", other);
    cluster.put(kJobs, ExplainCluster::job());
    json status = {
        {"conditions", json::array({cluster.condition("QuotaReserved", false, "WaitingForQuota", "", 5min)})}};
    status.update(history(json::array({attempt(cluster, "f1", 20min, 900, 5min)}), 2));
    cluster.put(kWorkloads, ExplainCluster::workload({{"status", status}}));
  };
}

}  // namespace

Scenes flavor_scenes() {
  return {
      {"its pods do not start, and there is another flavor",
       starting("DeactivateWorkload", true),
       "PodsNotReady",
       "",
       {"tried for 3m0s of 15m0s", "Flavor f1 fails at 2026-01-01T12:12:00Z, in 12m0s", "can get these flavors: f2."}},
      {"its pods do not start, and the Workload is deactivated after the last flavor",
       starting("DeactivateWorkload", false),
       "PodsNotReady",
       "",
       {"No other flavor is left: it is then deactivated."}},
      {"its pods do not start, and another round follows",
       starting("RetryAllFlavors", false),
       "PodsNotReady",
       "",
       {"a new round with all flavors then begins after a backoff"}},
      {"it waits with a failed flavor",
       waiting("RetryAllFlavors"),
       "WaitingForQuota",
       "in flavor f2",
       {"failed at 2026-01-01T11:55:00Z, 5m0s ago (TimeoutForPodsReadyExceeded), tried for 15m0s of 15m0s",
        "it has failed for this Workload and is not tried again", "Round of flavors",
        "all flavors are tried again at 2026-01-01T12:10:00Z, in 10m0s"}},
      {"all flavors have failed",
       [](ExplainCluster& cluster) {
         put_flavors(cluster, "DeactivateWorkload");
         cluster.put(kJobs, ExplainCluster::job());
         json status = {{"conditions",
                         {cluster.condition("Evicted", true, "DeactivatedDueToFlavorsExhausted",
                                            "The workload is deactivated due to the failure of all flavors: f1 "
                                            "(TimeoutForPodsReadyExceeded)")}}};
         status.update(history(json::array({attempt(cluster, "f1", 20min, 900, 5min)})));
         cluster.put(kWorkloads, ExplainCluster::workload({{"spec", {{"active", false}}}, {"status", status}}));
       },
       "DeactivatedDueToFlavorsExhausted",
       "all flavors have failed for it",
       {"\\\"active\\\":true", "Flavor f1"}},
  };
}

}  // namespace muster::test
