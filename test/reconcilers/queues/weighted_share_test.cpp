// With fair sharing, ClusterQueues and Cohorts show their weighted share.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/queues/cohort.h"
#include "state/scheduler_driver.h"
#include "test/reconcilers/queues/queue_cluster.h"

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

using Keys = std::vector<ObjectKey>;

// Two queues of 10 cpu in Cohort "team", which is in "company" with 20 cpu of its own.
class Shares {
 public:
  explicit Shares(bool fair = true)
      : state(settings_of(fair).queues), settings(settings_of(fair)), decisions(settings_of(fair).queues) {
    put(kNamespaces, "team-a", {{"apiVersion", "v1"}, {"kind", "Namespace"}});
    put(kResourceFlavors, "f1", json::object());
    put(kCohorts, "company", {{"spec", {{"resourceGroups", groups("20")}}}});
    put(kCohorts, "team", {{"spec", {{"parentName", "company"}}}});
    put_queue("mine", "1");
    put_queue("other", "1");
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "mine"}}}});
  }

  void put_queue(const char* name, const char* weight, int generation = 1) {
    put(kClusterQueues, name,
        {{"metadata", {{"generation", generation}, {"finalizers", {kInUse}}}},
         {"spec",
          {{"cohortName", "team"},
           {"namespaceSelector", json::object()},
           {"fairSharing", {{"weight", weight}}},
           {"resourceGroups", groups("10")}}}});
  }
  void put_workload(const char* cpu) {
    put(kWorkloads, "wl",
        QueueCluster::workload(json::object(), {{"conditions",
                                                 {{{"type", "QuotaReserved"},
                                                   {"status", "True"},
                                                   {"reason", "QuotaReserved"},
                                                   {"message", ""},
                                                   {"lastTransitionTime", "2026-01-01T11:00:00Z"}}}},
                                                {"admission",
                                                 {{"clusterQueue", "mine"},
                                                  {"podSetAssignments",
                                                   {{{"name", "main"},
                                                     {"count", 2},
                                                     {"flavors", {{"cpu", "f1"}}},
                                                     {"resourceUsage", {{"cpu", cpu}}}}}}}}}));
  }
  void put(const ResourceType& type, const std::string& name, json object) {
    json& metadata = object["metadata"];
    metadata["name"] = name;
    metadata["uid"] = name + "-uid";
    if (type.namespaced) metadata["namespace"] = "team-a";
    metadata["resourceVersion"] = std::to_string(++version_);
    const TypedObject typed = read_object(type, object);
    const auto change = state.put_watched(typed);
    decisions.put(typed, state, now);
    asked.clear();
    if (change && change->before) concern(*change->before);
    concern(typed);
    objects_[type.kind.data() + name] = std::move(object);
  }
  ReconcileContext context() const { return {state, decisions, settings, now}; }
  // What is written of an object, and afterwards is there; null: nothing.
  json write(const ResourceType& type, const std::string& name) {
    const Reconciler& reconciler = type.plural == kCohorts.plural ? cohort_reconciler : cluster_queue_reconciler;
    const Plan plan = reconciler.reconcile({&type, "", name}, context());
    if (plan.writes.empty()) return nullptr;
    REQUIRE(plan.writes.size() == 1);
    CHECK(plan.writes[0].verb == Verb::kPatchStatus);
    json object = objects_.at(type.kind.data() + name);
    object.merge_patch(plan.writes[0].body);
    put(type, name, object);
    return plan.writes[0].body["status"]["fairSharing"];
  }
  bool concerns(const ResourceType& type, const std::string& name) const {
    return std::find(asked.begin(), asked.end(), ObjectKey{&type, "", name}) != asked.end();
  }

  state::ClusterState state;
  ReconcilerSettings settings;
  state::SchedulerDriver decisions;
  Now now{TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime(std::chrono::hours(1))};
  Keys asked;

 private:
  static ReconcilerSettings settings_of(bool fair) {
    ReconcilerSettings settings;
    if (fair) settings.queues.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare};
    return settings;
  }
  static json groups(const char* cpu) {
    return {{{"coveredResources", {"cpu"}},
             {"flavors", {{{"name", "f1"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", cpu}}}}}}}}};
  }
  void concern(const TypedObject& object) {
    for (const Reconciler* reconciler : {&cohort_reconciler, &cluster_queue_reconciler})
      reconciler->requests_for(state, object, asked);
  }

  uint64_t version_ = 0;
  std::map<std::string, json> objects_;
};

}  // namespace

TEST_CASE("shares: what is borrowed in relation to what is lent, rounded up, is shown and written once") {
  Shares cluster;
  CHECK(cluster.write(kClusterQueues, "mine") == json{{"weightedShare", 0}});
  // 17 of its own 10: 7 of the 40 that its tree can lend.
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
  cluster.put_queue("mine", "0", 2);
  cluster.put_workload("17");
  CHECK(cluster.write(kClusterQueues, "mine")["weightedShare"] == std::numeric_limits<int64_t>::max());
}

TEST_CASE("shares: a change of another queue's spec concerns all, and one of its status nobody") {
  Shares cluster;
  cluster.write(kClusterQueues, "mine");
  cluster.write(kClusterQueues, "other");
  CHECK_FALSE(cluster.concerns(kClusterQueues, "mine"));
  CHECK_FALSE(cluster.concerns(kCohorts, "team"));
  cluster.put_queue("other", "1", 2);
  CHECK(cluster.concerns(kClusterQueues, "mine"));
  CHECK(cluster.concerns(kCohorts, "team"));
}

TEST_CASE("shares: without fair sharing none is shown, and one that is there is taken away") {
  Shares cluster(false);
  cluster.put_workload("17");
  CHECK(cluster.write(kCohorts, "team").is_null());
  cluster.put(kCohorts, "team",
              {{"spec", {{"parentName", "company"}}}, {"status", {{"fairSharing", {{"weightedShare", 5}}}}}});
  const Plan plan = cohort_reconciler.reconcile({&kCohorts, "", "team"}, cluster.context());
  REQUIRE(plan.writes.size() == 1);
  CHECK(plan.writes[0].body["status"] == json{{"fairSharing", nullptr}});
}
