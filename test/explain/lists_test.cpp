// Lists of Workloads, queues and holders, from the objects that the engine would know.
#include <set>

#include "api/jobset.h"
#include "api/workload.h"
#include "explain/lists/holder_list.h"
#include "explain/lists/queue_list.h"
#include "explain/lists/workload_list.h"
#include "explain/lists/workload_state.h"
#include "test/explain/listed_cluster.h"

namespace muster::test::lists_test {
namespace {

TEST_CASE("lists: an estimate stands beside those that wait, and beside nobody else") {
  const ExplainCluster cluster = filled();
  const explain::QueueSnapshot snapshot = snapshot_of(cluster);
  const StartEstimate estimate = {.outcome = StartOutcome::kRange,
                                  .earliest = {to_timestamp(cluster.now().wall).seconds + 60, 0},
                                  .latest = {to_timestamp(cluster.now().wall).seconds + 600, 0},
                                  .basis = {.history = true}};
  StartEstimates starts{.at = to_timestamp(cluster.now().wall), .by_path = {}};
  // One that was admitted since has one as well.
  for (const char* name : {"team-a/holder", "team-a/second", "team-b/first"}) starts.by_path.emplace(name, estimate);
  const json list = *explain::workload_list(snapshot, {.ns = "team-a"}, &starts);
  CHECK(list.dump().find("team-b") == std::string::npos);
  size_t shown = 0;
  for (const json& item : list["items"]) {
    if (!item.contains("estimatedStart")) continue;
    ++shown;
    CHECK(item["name"] == "second");
    CHECK(item["estimatedStart"] == to_json(estimate, starts.at));
  }
  CHECK(shown == 1);
  CHECK(explain::workload_list(snapshot, {})->dump().find("estimatedStart") == std::string::npos);
}

TEST_CASE("lists: Workloads come in the order of the queue, with both positions") {
  const ExplainCluster cluster = filled();
  const explain::QueueSnapshot snapshot = snapshot_of(cluster);
  const json all = list_workloads(snapshot, {});
  CHECK(lines_of(all) == std::vector<std::string>{"holder Admitted Running", "first Pending PendingEvaluation 0/0",
                                                  "second Pending PendingEvaluation 1/0", "off Inactive Deactivated",
                                                  "third Pending AdmissionGated"});
  CHECK(all["kind"] == "WorkloadSummaryList");
  CHECK(all["metadata"]["remaining"] == 0);
  const json& holder = all["items"][0];
  CHECK(holder["flavors"] == json({"f1"}));
  CHECK(holder["usage"] == json({{"cpu", "6"}}));
  CHECK(holder["clusterQueue"] == "cq");
  CHECK(holder["job"] == json({{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "holder"}}));
  CHECK(all["items"][1]["reasonInWords"] == "not evaluated yet");
  CHECK(all["items"][1]["since"] == all["items"][1]["created"]);

  CHECK(lines_of(list_workloads(snapshot, {.ns = "team-b"})) ==
        std::vector<std::string>{"first Pending PendingEvaluation 0/0"});
  CHECK(lines_of(list_workloads(snapshot, {.ns = "team-a", .local_queue = "lq", .limit = 1, .offset = 1})) ==
        std::vector<std::string>{"second Pending PendingEvaluation 1/0"});
  CHECK(list_workloads(snapshot, {.ns = "team-a", .limit = 1})["metadata"]["remaining"] == 3);
  CHECK(lines_of(list_workloads(snapshot, {.ns = "team-b", .cluster_queue = "cq"})).size() == 1);
  CHECK(explain::workload_list(snapshot, {.ns = "team-a", .local_queue = "no"}).error().message ==
        "there is no LocalQueue no in namespace team-a");
  CHECK(explain::workload_list(snapshot, {.cluster_queue = "no"}).error().message == "there is no ClusterQueue no");
}

TEST_CASE("lists: the reason is the first link that is missing") {
  ExplainCluster cluster = filled();
  const auto reason = [&](const char* name) {
    const explain::QueueSnapshot snapshot = snapshot_of(cluster);
    for (const explain::ListedWorkload& listed : snapshot.workloads()) {
      if (listed.object->meta.name == name)
        return explain::state_of(listed) + " " + explain::reason_of(snapshot, listed);
    }
    return std::string("none");
  };
  const auto say = [&](json conditions, json status = json::object()) {
    status["conditions"] = std::move(conditions);
    cluster.put_other("second", -20, "3", {{"status", status}});
    cluster.follow();
    return reason("second");
  };
  CHECK(say(json::array({cluster.condition("QuotaReserved", false, "WaitingForQuota")})) == "Pending WaitingForQuota");
  CHECK(say(json::array(), {{"requeueState", {{"count", 1}, {"requeueAt", "2026-01-01T12:01:00Z"}}}}) ==
        "Pending Backoff");
  CHECK(say(cluster.reserved()["status"]["conditions"], cluster.reserved()["status"]) ==
        "QuotaReserved UnsatisfiedAdmissionChecks");
  const json late = cluster.admitted(json::array({cluster.condition("PodsReady", false, "WaitForStart")}))["status"];
  CHECK(say(late["conditions"], late) == "Admitted PodsNotReady");
  const json out = cluster.admitted(json::array({cluster.condition("Evicted", true, "Preempted")}))["status"];
  CHECK(say(out["conditions"], out) == "Evicted Preempted");

  cluster.put(kClusterQueues, ExplainCluster::cluster_queue({{"stopPolicy", "Hold"}}));
  cluster.follow();
  CHECK(reason("first") == "Pending ClusterQueueStopped");
  cluster.put(kLocalQueues,
              {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}}}});
  cluster.follow();
  CHECK(reason("third") == "Pending LocalQueueStopped");
  cluster.vanish(kLocalQueues, "lq");
  cluster.follow();
  CHECK(reason("third") == "Pending LocalQueueMissing");
  CHECK(reason("off") == "Inactive Deactivated");
}

TEST_CASE("lists: an eviction for late pods has their reason, and a message that others write steers nothing") {
  ExplainCluster cluster = filled();
  const auto item = [&](const json& status, const json& spec = json::object()) {
    cluster.put_other("second", -20, "3", {{"spec", spec}, {"status", status}});
    cluster.follow();
    const json list = list_workloads(snapshot_of(cluster), {});
    for (const json& each : list["items"]) {
      if (each["name"] == "second")
        return each.value("state", "") + " " + each.value("reason", "") + " [" + each.value("podReason", "") + "] " +
               each.value("reasonInWords", "");
    }
    return std::string("none");
  };
  const auto evicted = [&](const std::string& reason, const std::string& message) {
    json made = cluster.condition("Evicted", true, reason);
    made["message"] = message;
    return made;
  };
  const std::string why = "Pod p and 3 more cannot be scheduled (Unschedulable): 0/4 nodes";
  const json late = evicted("PodsReadyTimeout", "Exceeded the PodsReady timeout team-a/second (" + why + ")");
  const json backoff = {{"count", 1}, {"requeueAt", "2026-01-01T12:01:00Z"}};
  const auto waits = [&](const json& condition) {
    return item({{"conditions", json::array({condition})}, {"requeueState", backoff}});
  };
  CHECK(waits(late) == "Pending Backoff [Unschedulable] waits for retry: Unschedulable");
  CHECK(waits(evicted("FlavorFallback", "Round 1 has ended (" + why + ")")) ==
        "Pending Backoff [Unschedulable] waits for retry: Unschedulable");
  CHECK(item(cluster.admitted(json::array({late}))["status"]) ==
        "Evicted PodsReadyTimeout [Unschedulable] pods not ready: Unschedulable");
  CHECK(item(cluster.admitted(json::array({evicted("FlavorFallback", "Falls back (" + why + ")")}))["status"]) ==
        "Evicted FlavorFallback [Unschedulable] flavor fallback: Unschedulable");
  for (const char* cause : {"RequeuingLimitExceeded", "FlavorsExhausted"}) {
    const json given_up = evicted(std::string("DeactivatedDueTo") + cause, "The workload is deactivated; " + why);
    CHECK(item({{"conditions", json::array({given_up})}}, {{"active", false}}) ==
          "Inactive Deactivated [Unschedulable] deactivated: Unschedulable");
  }
  // By a user, in the backoff.
  CHECK(item({{"conditions", json::array({late})}}, {{"active", false}}) == "Inactive Deactivated [] deactivated");
  // After the backoff it waits for quota.
  CHECK(item({{"conditions", json::array({late, cluster.condition("QuotaReserved", false, "WaitingForQuota")})}}) ==
        "Pending WaitingForQuota [] waiting for quota");
  // Nothing of a former eviction.
  CHECK(item(cluster.admitted(json::array({cluster.condition("Evicted", false, "QuotaReserved")}))["status"]) ==
        "Admitted Running [] running");
  CHECK(item(cluster.admitted(json::array({evicted("Preempted", "Preempted by Pod p cannot run (X)")}))["status"]) ==
        "Evicted Preempted [] preempted");
  for (const std::string& word : {std::string("\x1b[2J"), std::string("<script>"), std::string(10'000, 'x')}) {
    CHECK(waits(evicted("PodsReadyTimeout", "late (Pod p cannot be scheduled (" + word + "))")) ==
          "Pending Backoff [] waits for retry");
  }
}

TEST_CASE("lists: a reason has at most three words") {
  for (const char* token : {"WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor", "WaitingForPreemptedWorkloads",
                            "WaitingForPodsReady", "PendingEvaluation", "AdmissionGated", "UnsatisfiedAdmissionChecks",
                            "ClusterQueueStopped", "LocalQueueMissing", "Running", "Backoff", "Preempted",
                            "DeactivatedDueToRequeuingLimitExceeded", "FlavorFallback", "SomethingQuiteNewAndLong"}) {
    const std::string words = explain::in_words(token);
    INFO(token << ": " << words);
    CHECK_FALSE(words.empty());
    CHECK(std::count(words.begin(), words.end(), ' ') <= 2);
  }
  CHECK(explain::in_words("DeactivatedDueToRequeuingLimitExceeded") == "deactivated due to");
  CHECK(explain::in_words("FlavorFallback") == "flavor fallback");
}

TEST_CASE("lists: queues with counts, quota and the oldest wait") {
  ExplainCluster cluster = filled();
  const explain::QueueSnapshot snapshot = snapshot_of(cluster);
  const json local = explain::local_queue_list(snapshot, "team-a");
  REQUIRE(local["items"].size() == 1);
  const json& queue = local["items"][0];
  CHECK(queue["name"] == "lq");
  CHECK(queue["pending"] == 2);
  CHECK(queue["admitted"] == 1);
  CHECK(queue["state"] == "Active");
  CHECK(queue["usage"] == json::array({{{"flavor", "f1"}, {"resource", "cpu"}, {"used", "6"}}}));
  CHECK(queue["oldestPendingSince"] == "2026-01-01T10:40:00Z");
  CHECK(explain::local_queue_list(snapshot, "")["items"].size() == 2);

  const json clusters = explain::cluster_queue_list(snapshot);
  REQUIRE(clusters["items"].size() == 1);
  CHECK(clusters["items"][0]["pending"] == 2);
  CHECK(clusters["items"][0]["reserving"] == 1);
  const json quota = {{"flavor", "f1"},  {"resource", "cpu"}, {"nominal", "10"}, {"used", "6"},
                      {"borrowed", "0"}, {"free", "4"},       {"max", "10"}};
  CHECK(clusters["items"][0]["quotas"] == json::array({quota}));
  CHECK(clusters["items"][0]["oldestPendingSince"] == "2026-01-01T10:35:00Z");
}

TEST_CASE("lists: a stopped queue says so, and a LocalQueue says what it hangs on") {
  ExplainCluster cluster = filled();
  cluster.put(kClusterQueues, ExplainCluster::cluster_queue({{"stopPolicy", "HoldAndDrain"}}));
  cluster.put(kLocalQueues, {{"metadata", {{"name", "lost"}}}, {"spec", {{"clusterQueue", "none"}}}});
  cluster.follow();
  const explain::QueueSnapshot snapshot = snapshot_of(cluster);
  const json clusters = explain::cluster_queue_list(snapshot);
  CHECK(clusters["items"][0]["state"] == "Stopped");
  CHECK(clusters["items"][0]["reason"] == "Stopped");
  const json locals = explain::local_queue_list(snapshot, "team-a");
  REQUIRE(locals["items"].size() == 2);
  CHECK(locals["items"][0]["reason"] == "ClusterQueueMissing");
  CHECK(locals["items"][1]["reason"] == "ClusterQueueStopped");
  CHECK(locals["items"][1]["state"] == "Inactive");
}

// A Cohort of cq and of `lender`, whose quota `borrower` has taken.
ExplainCluster with_cohort() {
  ExplainCluster cluster = filled();
  cluster.put(kClusterQueues, ExplainCluster::cluster_queue({{"cohortName", "all"}}));
  json other = ExplainCluster::cluster_queue({{"cohortName", "all"}});
  other["metadata"]["name"] = "cq2";
  other["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "2";
  cluster.put(kClusterQueues, other);
  cluster.put(kNamespaces, {{"metadata", {{"name", "team-c"}}}});
  cluster.put(kLocalQueues,
              in_namespace("team-c", {{"metadata", {{"name", "lq2"}}}, {"spec", {{"clusterQueue", "cq2"}}}}));
  json admitted = cluster.admitted();
  admitted["status"]["admission"]["clusterQueue"] = "cq2";
  admitted["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] = "3";
  admitted["spec"]["queueName"] = "lq2";
  admitted["spec"]["maximumExecutionTimeSeconds"] = 600;
  cluster.put_other("borrower", -40, "3", in_namespace("team-c", admitted));
  cluster.follow();
  return cluster;
}

TEST_CASE("lists: the tree of Cohorts has its quota and its ClusterQueues") {
  const ExplainCluster cluster = with_cohort();
  const json cohorts = explain::cohort_list(snapshot_of(cluster));
  REQUIRE(cohorts["items"].size() == 1);
  CHECK(cohorts["items"][0]["name"] == "all");
  CHECK(cohorts["items"][0]["clusterQueues"] == json({"cq", "cq2"}));
  CHECK(cohorts["items"][0]["quotas"][0]["max"] == "12");
  const json clusters = explain::cluster_queue_list(snapshot_of(cluster));
  CHECK(clusters["items"][1]["quotas"][0]["borrowed"] == "1");
}

TEST_CASE("lists: holders of a resource, also those who borrowed, named to those who may know") {
  const ExplainCluster cluster = with_cohort();
  const explain::QueueSnapshot snapshot = snapshot_of(cluster);
  std::set<std::string> asked;
  const auto all =
      explain::holder_list(snapshot, {.resource = "cpu", .ns = "team-a", .local_queue = "lq"}, [&](const auto& ns) {
        asked.insert(ns);
        return true;
      });
  REQUIRE(all.ok());
  REQUIRE((*all)["items"].size() == 2);
  CHECK((*all)["items"][0]["name"] == "holder");
  CHECK((*all)["items"][0]["amount"] == "6");
  CHECK((*all)["items"][0]["untilAtMost"] == nullptr);
  CHECK((*all)["items"][1]["name"] == "borrower");
  CHECK((*all)["items"][1]["clusterQueue"] == "cq2");
  CHECK((*all)["items"][1]["since"] == "2026-01-01T11:59:00Z");
  CHECK((*all)["items"][1]["untilAtMost"] == "2026-01-01T12:09:00Z");
  CHECK((*all)["metadata"]["hidden"] == json({{"count", 0}, {"amount", "0"}}));
  CHECK(asked == std::set<std::string>{"team-a", "team-c"});

  const auto mine = explain::holder_list(snapshot, {.resource = "cpu", .cluster_queue = "cq"},
                                         [](const std::string& ns) { return ns == "team-a"; });
  REQUIRE(mine.ok());
  CHECK((*mine)["items"].size() == 1);
  CHECK((*mine)["metadata"]["hidden"] == json({{"count", 1}, {"amount", "3"}}));
  CHECK(mine->dump().find("borrower") == std::string::npos);
  CHECK(mine->dump().find("team-c") == std::string::npos);
  CHECK(mine->dump().find("cq2") == std::string::npos);

  const auto nobody = [](const std::string&) { return false; };
  CHECK(explain::holder_list(snapshot, {.resource = "gpu", .cluster_queue = "cq"}, nobody).error().message ==
        "ClusterQueue cq has no quota for gpu; it has cpu; did you mean \"cpu\"?");
  CHECK_FALSE(explain::holder_list(snapshot, {.resource = "cpu", .cluster_queue = "none"}, nobody).ok());
  CHECK_FALSE(explain::holder_list(snapshot, {.resource = "cpu", .ns = "team-a", .local_queue = "none"}, nobody).ok());
}

TEST_CASE("lists: at most so many namespaces are asked about, the rest is counted") {
  ExplainCluster cluster;
  constexpr int kCount = 25;
  for (int i = 0; i < kCount; ++i) {
    const std::string ns = "team-" + std::to_string(i);
    cluster.put(kNamespaces, {{"metadata", {{"name", ns}}}});
    cluster.put(kLocalQueues, in_namespace(ns, {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}}));
    cluster.put_other("w" + std::to_string(i), i, "1m", in_namespace(ns, cluster.admitted()));
  }
  cluster.follow();
  int asked = 0;
  const auto list = explain::holder_list(snapshot_of(cluster), {.resource = "cpu", .cluster_queue = "cq"},
                                         [&](const std::string&) { return ++asked > 0; });
  REQUIRE(list.ok());
  CHECK(asked == static_cast<int>(explain::kMostNamespaces));
  CHECK((*list)["metadata"]["hidden"]["count"] == kCount - static_cast<int>(explain::kMostNamespaces));
}

}  // namespace
}  // namespace muster::test::lists_test
