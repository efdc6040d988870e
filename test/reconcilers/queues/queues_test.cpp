#include <doctest/doctest.h>

#include "test/reconcilers/queues/queue_cluster.h"

namespace queues_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using std::chrono::seconds;

namespace {

const ObjectKey kCq = QueueCluster::key(kClusterQueues, "cq");
const ObjectKey kLq = QueueCluster::key(kLocalQueues, "lq");

json check(const char* active) {
  json object = {{"spec", {{"controllerName", "example.com/c"}}}, {"metadata", {{"finalizers", {kInUse}}}}};
  if (active != nullptr) object["status"]["conditions"] = {{{"type", "Active"}, {"status", active}, {"reason", "A"}}};
  return object;
}

std::string message_of(const QueueCluster& cluster, const ResourceType& type, const char* name) {
  return cluster.status(type, name)["conditions"][0]["message"];
}

json usage(const char* cpu, const char* memory, const char* borrowed_cpu = "0") {
  return {{{"name", "f1"},
           {"resources",
            {{{"name", "cpu"}, {"total", cpu}, {"borrowed", borrowed_cpu}},
             {{"name", "memory"}, {"total", memory}, {"borrowed", "0"}}}}}};
}

}  // namespace

TEST_CASE("a ClusterQueue says whether it admits and if not every reason") {
  struct Row {
    const char* name;
    json spec;
    const char* condition;
    const char* message;
  };
  const json checks = {{"admissionChecks", {{{"name", "b"}}, {{"name", "a"}}}}};
  const Row rows[] = {
      {"everything is there", json::object(), "True Ready", "Can admit new workloads"},
      {"it is held", {{"stopPolicy", "Hold"}}, "False Stopped", "Can't admit new workloads: is stopped."},
      {"a flavor is missing and it is held",
       {{"stopPolicy", "Hold"},
        {"resourceGroups", {{{"flavors", {{{"name", "f1"}}, {{"name", "x"}}, {{"name", "y"}}}}}}}},
       "False Stopped",
       "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): x,y."},
      {"a flavor is missing",
       {{"resourceGroups", {{{"flavors", {{{"name", "x"}}}}}}}},
       "False FlavorNotFound",
       "Can't admit new workloads: references missing ResourceFlavor(s): x."},
      {"checks are missing",
       {{"admissionChecksStrategy", checks}},
       "False AdmissionCheckNotFound",
       "Can't admit new workloads: references missing AdmissionCheck(s): a,b."},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues(row.spec);
    CHECK(cluster.settle(kCq) == Texts{"status clusterqueues/cq"});
    CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == row.condition);
    CHECK(message_of(cluster, kClusterQueues, "cq") == row.message);
    CHECK(cluster.status(kClusterQueues, "cq")["conditions"][0]["observedGeneration"] == 1);
  }
}

TEST_CASE("a ClusterQueue follows its flavors and checks when they come and go") {
  QueueCluster cluster;
  cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "ac"}}}}}}});
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "False AdmissionCheckNotFound");
  CHECK(cluster.condition_of(kLocalQueues, "lq", "Active") == "False ClusterQueueIsInactive");
  cluster.put(kAdmissionChecks, "ac", check(nullptr));
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "False AdmissionCheckInactive");
  cluster.put(kAdmissionChecks, "ac", check("True"));
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "True Ready");
  CHECK(cluster.condition_of(kLocalQueues, "lq", "Active") == "True Ready");
  cluster.vanish(kResourceFlavors, "f1");
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "False FlavorNotFound");
  CHECK(cluster.condition_of(kLocalQueues, "lq", "Active") == "False ClusterQueueIsInactive");
}

TEST_CASE("a ClusterQueue below a cycle of Cohorts says so until it is broken") {
  QueueCluster cluster;
  const auto put_cohort = [&](const char* name, const char* parent) {
    cluster.put(kCohorts, name, {{"spec", {{"parentName", parent}}}});
  };
  put_cohort("x", "y");
  put_cohort("y", "z");
  cluster.put_queues({{"cohortName", "x"}});
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "True Ready");
  put_cohort("z", "y");
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "False CohortCycleDetected");
  CHECK(message_of(cluster, kClusterQueues, "cq").find("change one spec.parentName") != std::string::npos);
  put_cohort("z", "");
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "True Ready");
}

TEST_CASE("a LocalQueue says whether it takes Workloads") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.settle_concerned();
  CHECK(message_of(cluster, kLocalQueues, "lq") == "Can submit new workloads to localQueue");
  cluster.patch(kLocalQueues, "lq", {{"spec", {{"stopPolicy", "HoldAndDrain"}}}});
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kLocalQueues, "lq", "Active") == "False Stopped");
  CHECK(message_of(cluster, kLocalQueues, "lq") == "LocalQueue is stopped");
  cluster.patch(kLocalQueues, "lq", {{"spec", {{"stopPolicy", "None"}}}});
  cluster.vanish(kClusterQueues, "cq");
  cluster.settle_concerned();
  CHECK(cluster.condition_of(kLocalQueues, "lq", "Active") == "False ClusterQueueDoesNotExist");
  // There is nothing to count by, and no list of nothing.
  for (const char* list : {"flavorsReservation", "flavorsUsage"})
    CHECK_FALSE(cluster.status(kLocalQueues, "lq").contains(list));
}

TEST_CASE("queues show what waits and what is reserved and used and borrowed") {
  QueueCluster cluster;
  cluster.put_queues({{"cohortName", "team"}});
  cluster.put(kWorkloads, "waits", QueueCluster::workload());
  cluster.put(kWorkloads, "off", QueueCluster::workload({{"active", false}}));
  json big = cluster.admitted_status();
  big["admission"] = QueueCluster::admission("12", "2Gi");
  cluster.put(kWorkloads, "big", QueueCluster::workload(json::object(), big));
  json reserves = cluster.reserved_status();
  reserves["admissionChecks"] = {{{"name", "ac"}, {"state", "Pending"}}};
  cluster.put(kWorkloads, "reserves", QueueCluster::workload(json::object(), reserves));
  cluster.concerned = {kCq, kLq};
  cluster.settle_concerned();

  const json status = cluster.status(kClusterQueues, "cq");
  CHECK(status["pendingWorkloads"] == 1);
  CHECK(status["reservingWorkloads"] == 2);
  CHECK(status["admittedWorkloads"] == 1);
  CHECK(status["flavorsReservation"] == usage("14", "4Gi", "4"));
  CHECK(status["flavorsUsage"] == usage("12", "2Gi", "2"));
  const json local = cluster.status(kLocalQueues, "lq");
  CHECK(local["pendingWorkloads"] == 1);
  CHECK(local["admittedWorkloads"] == 1);
  CHECK(local["flavorsReservation"][0]["resources"][0] == json{{"name", "cpu"}, {"total", "14"}});

  // Half of the pods are done, then all of it.
  cluster.patch(kWorkloads, "big", {{"status", {{"reclaimablePods", {{{"name", "main"}, {"count", 1}}}}}}});
  cluster.step(kCq);
  CHECK(cluster.status(kClusterQueues, "cq")["flavorsUsage"] == usage("6", "1Gi"));
  json conditions = cluster.status(kWorkloads, "big")["conditions"];
  conditions.push_back(cluster.condition("Finished", "True", "Succeeded"));
  cluster.patch(kWorkloads, "big", {{"status", {{"conditions", conditions}}}});
  cluster.step(kCq);
  CHECK(cluster.status(kClusterQueues, "cq")["flavorsUsage"] == usage("0", "0"));
  for (const char* name : {"waits", "off", "big", "reserves"}) cluster.vanish(kWorkloads, name);
  cluster.step(kCq);
  CHECK(cluster.status(kClusterQueues, "cq")["flavorsReservation"] == usage("0", "0"));
  CHECK(cluster.state.queue_counts().of_cluster_queue("cq") == state::QueueCounts());
  CHECK(cluster.state.queue_counts().of_local_queue("team-a", "lq") == state::QueueCounts());
}

// Upstream counts the pods that are left of all the pod set asks for, not of those that were admitted.
TEST_CASE("a Workload that was admitted in part uses less once fewer pods are left than were admitted") {
  struct Row {
    const char* name;
    int reclaimable;
    json usage;
  };
  const Row rows[] = {
      {"six of eight are left for the four that were admitted", 2, usage("8", "2Gi")},
      {"just four of eight are left", 4, usage("8", "2Gi")},
      {"three are left", 5, usage("6", "1536Mi")},
      {"none is left", 8, usage("0", "0")},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put_queues();
    json status = cluster.admitted_status();
    status["admission"] = QueueCluster::admission("8", "2Gi");
    status["admission"]["podSetAssignments"][0]["count"] = 4;
    status["reclaimablePods"] = {{{"name", "main"}, {"count", row.reclaimable}}};
    json workload = QueueCluster::workload(json::object(), status);
    workload["spec"]["podSets"][0]["count"] = 8;
    cluster.put(kWorkloads, "wl", workload);
    cluster.settle(kCq);
    CHECK(cluster.status(kClusterQueues, "cq")["flavorsUsage"] == row.usage);
  }
}

TEST_CASE("without a Cohort nothing is borrowed") {
  QueueCluster cluster;
  cluster.put_queues();
  json status = cluster.admitted_status();
  status["admission"] = QueueCluster::admission("12", "2Gi");
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), status));
  cluster.settle(kCq);
  CHECK(cluster.status(kClusterQueues, "cq")["flavorsUsage"] == usage("12", "2Gi"));
}

TEST_CASE("the Workloads of a held LocalQueue are not shown as pending") {
  QueueCluster cluster;
  cluster.put_queues(json::object(), {{"stopPolicy", "Hold"}});
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  cluster.settle_concerned();
  CHECK(cluster.status(kLocalQueues, "lq")["pendingWorkloads"] == 0);
  CHECK(cluster.status(kClusterQueues, "cq")["pendingWorkloads"] == 0);
}

TEST_CASE("the counts of a queue may be told late but not whether it admits") {
  QueueCluster cluster;
  cluster.put_queues();
  for (const ObjectKey& key : {kCq, kLq}) {
    const Plan plan = cluster.reconcile(key);
    REQUIRE(plan.writes.size() == 1);
    CHECK(plan.writes[0].rest == Duration::zero());
  }
  cluster.settle_concerned();
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  for (const ObjectKey& key : {kCq, kLq}) {
    const Plan plan = cluster.reconcile(key);
    REQUIRE(plan.writes.size() == 1);
    CHECK(plan.writes[0].rest == seconds(1));
  }
  cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "Hold"}}}});
  const Plan plan = cluster.reconcile(kCq);
  REQUIRE(plan.writes.size() == 1);
  CHECK(plan.writes[0].rest == Duration::zero());
}

TEST_CASE("a queue whose counts change does not wake its Workloads but one that stops does") {
  QueueCluster cluster;
  cluster.put_queues();
  cluster.put(kWorkloads, "wl", QueueCluster::workload());
  cluster.settle_concerned();
  const auto woken = [&cluster] {
    const auto keys = std::exchange(cluster.concerned, {});
    return std::find(keys.begin(), keys.end(), QueueCluster::workload_key()) != keys.end();
  };
  cluster.patch(kClusterQueues, "cq", {{"status", {{"pendingWorkloads", 7}}}});
  cluster.patch(kLocalQueues, "lq", {{"status", {{"pendingWorkloads", 7}}}});
  CHECK_FALSE(woken());
  cluster.patch(kClusterQueues, "cq", {{"spec", {{"stopPolicy", "Hold"}}}});
  CHECK(woken());
  cluster.patch(kLocalQueues, "lq", {{"spec", {{"stopPolicy", "Hold"}}}});
  CHECK(woken());
}

TEST_CASE("queues and what they name can be deleted in any order and all go") {
  const std::vector<std::pair<const ResourceType*, const char*>> objects = {
      {&kResourceFlavors, "f1"}, {&kAdmissionChecks, "ac"}, {&kClusterQueues, "cq"}, {&kLocalQueues, "lq"}};
  std::vector<size_t> order = {0, 1, 2, 3};
  do {
    std::string name;
    for (const size_t i : order) name += std::string(objects[i].second) + " ";
    CAPTURE(name);
    QueueCluster cluster;
    cluster.put(kAdmissionChecks, "ac", check("True"));
    cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "ac"}}}}}}});
    json status = cluster.admitted_status();
    status["admissionChecks"] = {
        {{"name", "ac"}, {"state", "Ready"}, {"lastTransitionTime", cluster.stamp(seconds(0))}}};
    cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), status));
    cluster.settle_concerned();
    for (const size_t i : order) {
      cluster.remove(*objects[i].first, objects[i].second);
      cluster.settle_concerned();
    }
    // What an admitted Workload stands on stays until it is done.
    CHECK_FALSE(cluster.get(kClusterQueues, "cq").is_null());
    CHECK_FALSE(cluster.get(kResourceFlavors, "f1").is_null());
    CHECK(cluster.condition_of(kClusterQueues, "cq", "Active") == "False Terminating");
    cluster.vanish(kWorkloads, "wl");
    cluster.settle_concerned();
    for (const auto& [type, object] : objects) CHECK(cluster.get(*type, object).is_null());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("objects that were made without the finalizer get it") {
  QueueCluster cluster;
  cluster.put_queues();
  for (const auto& [type, name] : {std::pair{&kClusterQueues, "cq"}, std::pair{&kResourceFlavors, "f1"}}) {
    cluster.patch(*type, name, {{"metadata", {{"finalizers", {"example.com/mine"}}}}});
    cluster.settle(QueueCluster::key(*type, name));
    CHECK(cluster.get(*type, name)["metadata"]["finalizers"] == json{"example.com/mine", kInUse});
  }
}

}  // namespace queues_test
