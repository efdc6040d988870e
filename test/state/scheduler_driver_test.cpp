#include "state/scheduler_driver.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/texts/unmet_requests.h"
#include "scheduler/decision.h"
#include "test/state/deciding_cluster.h"

namespace scheduler_driver_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;

TEST_CASE("scheduler driver: one that nobody has seen is withdrawn without a write") {
  DecidingCluster cluster;
  cluster.put_workload("low", "8", 1);
  CHECK(cluster.decide() == Texts{"low"});
  REQUIRE(cluster.decision<scheduler::Admitted>("low"));
  cluster.put_workload("high", "8", 9);
  cluster.decide();
  CHECK(cluster.decision<scheduler::Admitted>("high"));
  CHECK_FALSE(cluster.decision<scheduler::Admitted>("low"));
  CHECK_FALSE(cluster.decision<scheduler::Preempted>("low"));
  CHECK(cluster.waits("low"));
  // It is not forgotten.
  cluster.write("high");
  cluster.patch_workload("high", {{"status", {{"conditions", {{{"type", "Finished"}, {"status", "True"}}}}}}});
  cluster.decide();
  CHECK(cluster.decision<scheduler::Admitted>("low"));
}

TEST_CASE("scheduler driver: one that is being written is evicted after it") {
  DecidingCluster cluster;
  cluster.put_workload("low", "8", 1);
  cluster.decide();
  cluster.sent("low");
  cluster.put_workload("high", "8", 9);
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Admitted>("low"));
  SUBCASE("an older state of the object does not hide the eviction") {
    cluster.patch_workload("low", {{"metadata", {{"labels", {{"touched", "true"}}}}}});
  }
  SUBCASE("when it was written at once") {}
  cluster.write("low");
  REQUIRE(cluster.decision<scheduler::Preempted>("low"));
  CHECK_FALSE(cluster.decision<scheduler::Admitted>("high"));
  cluster.write("low");
  CHECK(cluster.decision<scheduler::Preempted>("low") == nullptr);
  // Its quota comes back with its reservation.
  cluster.patch_workload("low", {{"status", {{"admission", nullptr}, {"conditions", nullptr}}}});
  cluster.decide();
  CHECK(cluster.decision<scheduler::Admitted>("high"));
  CHECK(cluster.waits("low"));
}

TEST_CASE(
    "scheduler driver: a refusal says what was asked for, and an admission takes that back, without writes of their "
    "own") {
  DecidingCluster cluster;
  cluster.put_workload("large", "11", 1);
  cluster.decide();
  REQUIRE(cluster.decision<Inadmissible>("large"));
  cluster.pass(std::chrono::seconds(2));
  const reconcilers::Plan refused = cluster.plan_of("large");
  REQUIRE(refused.writes.size() == 1);
  CHECK(refused.writes[0].body["status"]["resourceRequests"] ==
        json::parse(R"([{"name": "main", "resources": {"cpu": "11"}}])"));
  cluster.write("large");
  CHECK(cluster.plan_of("large").writes.empty());

  cluster.put_workload("small", "1", 1);
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Admitted>("small"));
  const reconcilers::Plan admitted = cluster.plan_of("small");
  REQUIRE(admitted.writes.size() == 1);
  CHECK(admitted.writes[0].body["status"].at("resourceRequests").is_null());
}

TEST_CASE("scheduler driver: an eviction is told of the victim and of the Workload that gets the room") {
  DecidingCluster cluster;
  cluster.put_workload("low", "8", 1);
  cluster.decide();
  cluster.write("low");
  cluster.put_workload("high", "8", 9);
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Preempted>("low"));
  const reconcilers::Plan plan = cluster.plan_of("low");
  REQUIRE(plan.writes.size() == 1);
  Texts told;
  for (const ObjectEvent& event : plan.writes[0].events) told.push_back(event.regarding.name + " " + event.reason);
  CHECK(told == Texts{"low EvictedDueToPreempted", "low Preempted", "high PreemptedWorkload"});
  const ObjectEvent& event = plan.writes[0].events.back();
  CHECK(event.type == "Normal");
  CHECK(event.note ==
        "Preempted workload team-a/low (UID: low-uid) in ClusterQueue cq; preemptor effective priority: 9 (base: 9, "
        "boost: 0); preemptee effective priority: 1 (base: 1, boost: 0)");
}

TEST_CASE("scheduler driver: an event names no victim of another namespace") {
  DecidingCluster cluster;
  cluster.put_workload("low", "8", 1);
  cluster.decide();
  cluster.write("low");
  const json elsewhere = {{"metadata", {{"namespace", "team-b"}}}};
  cluster.put(kNamespaces, "team-b", json::object());
  json queue = {{"spec", {{"clusterQueue", "cq"}}}};
  queue.merge_patch(elsewhere);
  cluster.put(kLocalQueues, "lq", queue);
  json high = workload_of(1, pod_template_of({{"cpu", "8"}}), {{"priority", 9}});
  high.merge_patch(elsewhere);
  cluster.put(kWorkloads, "high", high);
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Preempted>("low"));
  const reconcilers::Plan plan = cluster.plan_of("low");
  REQUIRE(plan.writes.size() == 1);
  const ObjectEvent& event = plan.writes[0].events.back();
  CHECK(event.regarding.ns == "team-b");
  CHECK(
      event.note ==
      "Preempted a workload of another namespace in ClusterQueue cq; preemptor effective priority: 9 (base: 9, boost: "
      "0); preemptee effective priority: 1 (base: 1, boost: 0)");
}

TEST_CASE("scheduler driver: only writes of Workloads are about its decisions, whatever the name") {
  DecidingCluster cluster;
  cluster.put_workload("low", "8", 1);
  cluster.decide();
  const ObjectKey namesake{&kJobSets, "team-a", "low"}, workload{&kWorkloads, "team-a", "low"};
  CHECK(cluster.decisions.admits(workload));
  CHECK_FALSE(cluster.decisions.admits(namesake));
  cluster.decisions.refuse(namesake, cluster.now());
  REQUIRE(cluster.decision<scheduler::Admitted>("low"));
  // Not sent: it is withdrawn without a write.
  cluster.decisions.sent(namesake, cluster.now());
  cluster.put_workload("high", "8", 9);
  cluster.decide();
  CHECK_FALSE(cluster.decisions.admits(workload));
  CHECK_FALSE(cluster.decision<scheduler::Preempted>("low"));
  CHECK(cluster.decisions.admits({&kWorkloads, "team-a", "high"}));
}

TEST_CASE("scheduler driver: one that the API server refused is decided anew although it was to be evicted") {
  DecidingCluster cluster;
  cluster.put_workload("low", "8", 1);
  cluster.decide();
  cluster.sent("low");
  cluster.put_workload("high", "8", 9);
  cluster.decide();
  cluster.decisions.refuse({&kWorkloads, "team-a", "low"}, cluster.now());
  cluster.decide();
  CHECK(cluster.decision<scheduler::Admitted>("high"));
  CHECK_FALSE(cluster.decision<scheduler::Preempted>("low"));
  CHECK(cluster.waits("low"));
}

TEST_CASE("scheduler driver: whoever leaves before it was admitted in writing is not admitted") {
  const std::vector<std::pair<std::string, json>> rows = {
      {"was deactivated", {{"spec", {{"active", false}}}}},
      {"has finished", {{"status", {{"conditions", {{{"type", "Finished"}, {"status", "True"}}}}}}}},
      {"is being deleted", {{"metadata", {{"deletionTimestamp", "2026-01-01T12:00:00Z"}}}}},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    DecidingCluster cluster;
    cluster.put_workload("one", "8", 1);
    cluster.decide();
    cluster.patch_workload("one", row.second);
    CHECK_FALSE(cluster.decision<scheduler::Admitted>("one"));
    cluster.put_workload("next", "8", 1);
    cluster.decide();
    CHECK(cluster.decision<scheduler::Admitted>("next"));
  }
}

TEST_CASE("scheduler driver: an admission that is not yet written is decided anew if its Workload asks otherwise") {
  DecidingCluster cluster;
  cluster.put(kClusterQueues, "other", cluster_queue_of({quota_of("f1", {{"cpu", "10"}})}));
  cluster.put(kLocalQueues, "other", {{"spec", {{"clusterQueue", "other"}}}});
  cluster.put_workload("one", "8", 1);
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Admitted>("one"));
  SUBCASE("its write is still waiting") {}
  SUBCASE("its write is under way, and will find a newer version") {
    cluster.sent("one");
  }
  cluster.patch_workload("one", {{"spec", {{"queueName", "other"}}}});
  CHECK_FALSE(cluster.decision<scheduler::Admitted>("one"));
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Admitted>("one"));
  CHECK(cluster.decision<scheduler::Admitted>("one")->admission.cluster_queue == "other");
  // The first queue has its quota back.
  cluster.put_workload("next", "8", 1);
  cluster.decide();
  REQUIRE(cluster.decision<scheduler::Admitted>("next"));
  CHECK(cluster.decision<scheduler::Admitted>("next")->admission.cluster_queue == "cq");
}

TEST_CASE("scheduler driver: a check of the flavor that was chosen is asked before the Workload is admitted") {
  DecidingCluster cluster;
  cluster.put(kResourceFlavors, "f2", json::object());
  cluster.put(kAdmissionChecks, "c", {{"status", {{"conditions", {{{"type", "Active"}, {"status", "True"}}}}}}});
  cluster.put(
      kClusterQueues, "cq",
      cluster_queue_of({quota_of("f1", {{"cpu", "10"}}), quota_of("f2", {{"cpu", "10"}})},
                       {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "c"}, {"onFlavors", {"f2"}}}}}}}}));
  // The second has no room on the first flavor.
  for (const std::string name : {"on-f1", "on-f2"}) {
    INFO(name);
    cluster.put_workload(name, "8", 1);
    REQUIRE(cluster.decide() == Texts{name});
    cluster.write(name);
    const Workload* workload = cluster.state.find<Workload>("team-a", name);
    const bool asked = name == "on-f2";
    CHECK(workload->has_quota_reserved());
    CHECK(workload->admitted() == !asked);
    CHECK(workload->status.admission_checks.size() == (asked ? 1 : 0));
  }
}

TEST_CASE("scheduler driver: a refusal is dropped when the queue of its Workload stops") {
  DecidingCluster cluster;
  cluster.put_workload("big", "11", 1);
  cluster.decide();
  REQUIRE(cluster.decision<Inadmissible>("big"));
  cluster.put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}, {"stopPolicy", "Hold"}}}});
  cluster.decide();
  CHECK(cluster.decision<Inadmissible>("big") == nullptr);
  // The queue has spoken since; when it goes on, the scheduler does again.
  const json said = {{"type", "QuotaReserved"}, {"status", "False"}, {"reason", "Suspended"}, {"message", "m"}};
  cluster.patch_workload("big", {{"status", {{"conditions", {said}}}}});
  cluster.put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
  cluster.decide();
  REQUIRE(cluster.decision<Inadmissible>("big"));
  CHECK_FALSE(cluster.decision<Inadmissible>("big")->evaluated);
}

TEST_CASE("scheduler driver: how long a Workload was admitted is told by the clock that nobody sets") {
  using std::chrono::hours;
  using std::chrono::seconds;
  DecidingCluster cluster;
  cluster.put_workload("one", "8", 1);
  cluster.decide();
  cluster.write("one");
  const auto age = [&] {
    return cluster.decisions.admitted_for(*cluster.state.find<Workload>("team-a", "one"), cluster.now());
  };
  CHECK(age() == seconds(0));
  for (const Duration jump : {Duration(hours(2)), Duration(hours(-5)), Duration(seconds(0))}) {
    const Duration before = age();
    cluster.jump_wall_clock(jump);
    cluster.pass(seconds(10));
    cluster.patch_workload("one", {{"metadata", {{"labels", {{"touched", std::to_string(jump.count())}}}}}});
    CHECK(age() == before + seconds(10));
  }
  // After a restart there is only the stamp; one of the future counts as none.
  SchedulerDriver other{QueueSettings()};
  CHECK(other.admitted_for(*cluster.state.find<Workload>("team-a", "one"), cluster.now()) == seconds(0));
}

}  // namespace scheduler_driver_test
