// With fair sharing, ClusterQueues and Cohorts show their weighted share.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/queues/cohort.h"
#include "state/scheduler_driver.h"
#include "test/reconcilers/queues/queue_cluster.h"

namespace weighted_share_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

// Two queues of 10 cpu in Cohort "team", which is in "company" with its own 20 cpu.
class Shares : public ReconciledCluster {
 public:
  explicit Shares(bool fair = true)
      : ReconciledCluster({&cohort_reconciler, &cluster_queue_reconciler}, settings_of(fair)) {
    put(kResourceFlavors, "f1", json::object());
    put(kCohorts, "company", {{"spec", {{"resourceGroups", groups("20")}}}});
    put(kCohorts, "team", {{"spec", {{"parentName", "company"}}}});
    put_queue("mine", "1");
    put_queue("other", "1");
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "mine"}}}});
  }

  void put_queue(const char* name, const char* weight) {
    json queue = cluster_queue_of({quota_of("f1", {{"cpu", "10"}})},
                                  {{"cohortName", "team"}, {"fairSharing", {{"weight", weight}}}});
    queue["metadata"]["finalizers"] = {kInUse};
    put(kClusterQueues, name, queue);
  }
  void put_workload(const char* cpu) {
    json workload = workload_of(2, {{"spec", json::object()}});
    workload["status"] = {{"conditions", {condition_at(stamp(), "QuotaReserved", "True", "QuotaReserved")}},
                          {"admission", admission_of(2, {{"cpu", "f1"}}, {{"cpu", cpu}})}};
    workload["status"]["admission"]["clusterQueue"] = "mine";
    concerned.clear();
    put(kWorkloads, "wl", workload);
  }
  // The share that is written of an object, and afterwards is there; null: nothing is written.
  json write(const ResourceType& type, const std::string& name) {
    concerned.clear();
    const Plan plan = carried_out(key(type, name));
    if (plan.writes.empty()) return nullptr;
    CHECK(texts(plan) == Texts{"status " + std::string(type.plural) + "/" + name});
    return plan.writes[0].body["status"]["fairSharing"];
  }
  bool concerns(const ResourceType& type, const std::string& name) const {
    return std::find(concerned.begin(), concerned.end(), key(type, name)) != concerned.end();
  }

 private:
  static ReconcilerSettings settings_of(bool fair) {
    ReconcilerSettings settings;
    if (fair) settings.queues.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare};
    return settings;
  }
  static json groups(const char* cpu) {
    return cluster_queue_of({quota_of("f1", {{"cpu", cpu}})})["spec"]["resourceGroups"];
  }
};

}  // namespace

TEST_CASE("shares: what is borrowed in relation to what is lent, rounded up, is shown and written once") {
  Shares cluster;
  CHECK(cluster.write(kClusterQueues, "mine") == json{{"weightedShare", 0}});
  // 17 of 10: 7 of the 40 that its tree can lend.
  cluster.put_workload("17");
  CHECK(cluster.concerns(kClusterQueues, "mine"));
  CHECK(cluster.concerns(kCohorts, "team"));
  CHECK(cluster.concerns(kCohorts, "company"));
  CHECK(cluster.write(kClusterQueues, "mine") == json{{"weightedShare", 175}});
  CHECK(cluster.write(kClusterQueues, "mine").is_null());
  // The Cohort has 20 and uses 17; the root has no share.
  CHECK(cluster.write(kCohorts, "team") == json{{"weightedShare", 0}});
  CHECK(cluster.write(kCohorts, "company") == json{{"weightedShare", 0}});
  cluster.put_workload("27");
  CHECK(cluster.write(kCohorts, "team") == json{{"weightedShare", 175}});
  CHECK(cluster.write(kCohorts, "team").is_null());
}

TEST_CASE("shares: a queue of weight 0 that borrows has the largest number") {
  Shares cluster;
  cluster.put_queue("mine", "0");
  cluster.put_workload("17");
  CHECK(cluster.write(kClusterQueues, "mine")["weightedShare"] == std::numeric_limits<int64_t>::max());
}

TEST_CASE("shares: a change of another queue's spec concerns all, and one of its status nobody") {
  Shares cluster;
  cluster.write(kClusterQueues, "mine");
  cluster.write(kClusterQueues, "other");
  CHECK_FALSE(cluster.concerns(kClusterQueues, "mine"));
  CHECK_FALSE(cluster.concerns(kCohorts, "team"));
  cluster.put_queue("other", "2");
  CHECK(cluster.concerns(kClusterQueues, "mine"));
  CHECK(cluster.concerns(kCohorts, "team"));
}

TEST_CASE("shares: without fair sharing none is shown, and one that is there is taken away") {
  Shares cluster(false);
  cluster.put_workload("17");
  CHECK(cluster.write(kCohorts, "team").is_null());
  cluster.put(kCohorts, "team",
              {{"spec", {{"parentName", "company"}}}, {"status", {{"fairSharing", {{"weightedShare", 5}}}}}});
  const Plan plan = cluster.reconcile({&kCohorts, "", "team"});
  REQUIRE(plan.writes.size() == 1);
  CHECK(plan.writes[0].body["status"] == json{{"fairSharing", nullptr}});
}

}  // namespace weighted_share_test
