// Lists for readers who do not see everything.
#include "explain/lists/holder_list.h"
#include "explain/lists/queue_list.h"
#include "explain/lists/workload_list.h"
#include "test/explain/listed_cluster.h"

namespace muster::test::lists_visibility_test {
namespace {

// Queues of the cluster as a plain user sees them: the ClusterQueues cannot be listed.
TEST_CASE("lists: what is not visible is never missing, and states come from the Workloads themselves") {
  ExplainCluster cluster = filled();
  cluster.put_other(
      "second", -20, "3",
      {{"status", {{"conditions", json::array({cluster.condition("QuotaReserved", false, "WaitingForQuota")})}}}});
  cluster.vanish(kClusterQueues, "cq");
  cluster.follow();
  explain::QueueListing listing = explain::take_queue_listing(cluster.state, cluster.decisions, false, cluster.now());
  listing.unseen = {kClusterQueues.id()};
  const explain::QueueSnapshot snapshot(listing);
  const std::vector<std::string> seen = lines_of(list_workloads(snapshot, {}));
  const auto has = [&](const char* line) { return std::find(seen.begin(), seen.end(), line) != seen.end(); };
  CHECK(has("holder Admitted Running"));
  CHECK(has("second Pending WaitingForQuota"));
  CHECK(has("off Inactive Deactivated"));
  for (const std::string& line : seen) CHECK_MESSAGE(line.find("Missing") == std::string::npos, line);
  const json queue = explain::local_queue_list(snapshot, "team-a")["items"][0];
  CHECK(queue["state"] == "Unknown");
  CHECK(queue["reasonInWords"] == "ClusterQueue not visible");
  const auto may_know = [](const std::string&) { return true; };
  CHECK(explain::holder_list(snapshot, {.resource = "cpu", .ns = "team-a", .local_queue = "lq"}, may_know)
            .error()
            .message.starts_with("you cannot list clusterqueues"));

  // Where it could be seen, it is missing.
  listing.unseen.clear();
  const explain::QueueSnapshot whole(listing);
  CHECK(explain::local_queue_list(whole, "team-a")["items"][0]["reason"] == "ClusterQueueMissing");
  CHECK(explain::holder_list(whole, {.resource = "cpu", .ns = "team-a", .local_queue = "lq"}, may_know)
            .error()
            .message.starts_with("there is no ClusterQueue"));
}

TEST_CASE("lists: a ClusterQueue whose flavors or checks cannot be listed is not inactive for that") {
  ExplainCluster cluster = filled();
  cluster.put_other(
      "second", -20, "3",
      {{"status", {{"conditions", json::array({cluster.condition("QuotaReserved", false, "WaitingForQuota")})}}}});
  const auto look = [&](const ResourceType& unseen, const json& spec) {
    cluster.put(kClusterQueues, ExplainCluster::cluster_queue(spec));
    cluster.follow();
    explain::QueueListing listing = explain::take_queue_listing(cluster.state, cluster.decisions, false, cluster.now());
    listing.unseen = {unseen.id()};
    const explain::QueueSnapshot snapshot(listing);
    const json of_cluster = explain::cluster_queue_list(snapshot)["items"][0];
    const std::vector<std::string> lines = lines_of(list_workloads(snapshot, {}));
    const bool waits = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.starts_with("second Pending WaitingForQuota");
    });
    const std::string second = waits ? " WaitingForQuota" : "";
    return of_cluster["state"].get<std::string>() + " " + of_cluster.value("message", "") + ", " +
           explain::local_queue_list(snapshot, "team-a")["items"][0]["state"].get<std::string>() + second;
  };
  const json checked = {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "budget"}}}}}}};
  CHECK(look(kAdmissionChecks, checked) == "Unknown you cannot list admissionchecks, Unknown WaitingForQuota");
  CHECK(look(kCohorts, checked).starts_with("Inactive "));
  cluster.vanish(kResourceFlavors, "f1");
  CHECK(look(kResourceFlavors, json::object()) == "Unknown you cannot list resourceflavors, Unknown WaitingForQuota");
  CHECK(look(kResourceFlavors, {{"stopPolicy", "Hold"}}) == "Stopped is stopped, Inactive");
  CHECK(look(kCohorts, json::object()).starts_with("Inactive "));
}

}  // namespace
}  // namespace muster::test::lists_visibility_test
