#include "scheduler/views/explanation.h"

#include <doctest/doctest.h>

#include "test/scheduler/scheduler_fixture.h"

namespace muster::test::explanation_test {
namespace {

TEST_CASE("explanation: every flavor of every resource has its numbers before anything was decided") {
  Cluster cluster;
  ResourceFlavor spot = test::resource_flavor("spot");
  spot.node_taints.push_back({.key = "spot", .value = "yes", .effect = "NoSchedule"});
  cluster.put(spot);
  cluster.put(cluster_queue("a", "", {{.flavor = "default", .nominal = 4}, {.flavor = "spot", .nominal = 9}}));
  cluster.put(workload("one", "a"), 5);
  cluster.scheduler.follow(at(0));
  const auto told = scheduler::explain_pending(cluster.scheduler.state(), "team", "one");
  REQUIRE(told);
  CHECK(told->reason == "");
  REQUIRE(told->flavors.size() == 2);
  const scheduler::FlavorRow& first = told->flavors[0];
  CHECK(first.flavor == "default");
  CHECK(first.requested == 5000);
  CHECK(first.free == 4000);
  CHECK(first.most == 4000);
  CHECK(first.suitable);
  CHECK_FALSE(first.could_fit());
  const scheduler::FlavorRow& second = told->flavors[1];
  CHECK(second.flavor == "spot");
  CHECK(second.free == 9000);
  CHECK_FALSE(second.suitable);
  CHECK_FALSE(second.fits());
  CHECK(second.verdict == "the pods do not tolerate its taint spot=yes:NoSchedule");
}

TEST_CASE("explanation: who only follows has the leader's numbers and places and decides nothing") {
  const auto fill = [](Cluster& cluster) {
    cluster.put(cluster_queue("a", "team", {{.nominal = 2}}));
    cluster.put(cluster_queue("b", "team", {{.nominal = 3}}));
    cluster.put(workload("huge", "a", 0, 1), 5);
    cluster.put(workload("second", "a", 0, 2), 6);
  };
  Cluster follower;
  fill(follower);
  follower.scheduler.follow(at(0));
  const auto told = scheduler::explain_pending(follower.scheduler.state(), "team", "second");
  REQUIRE(told);
  CHECK(told->position == 1);
  CHECK(told->ahead == std::vector<std::string>{"team/huge"});
  REQUIRE(told->flavors.size() == 1);
  CHECK(told->flavors[0].nominal == 2000);
  CHECK(told->flavors[0].free == 5000);
  // It has taken nothing from who decides later.
  Cluster leader;
  fill(leader);
  CHECK(follower.drain(1) == leader.drain(1));
}

TEST_CASE("explanation: of many that are ahead the first ten are named in their order") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 1}});
  queue.queueing_strategy = QueueingStrategy::kStrictFifo;
  cluster.put(queue);
  for (int i = 0; i < 15; ++i) cluster.put(workload("w" + std::to_string(10 + i), "a", i % 3, i), 2 + i % 2);
  cluster.scheduler.follow(at(0));
  const std::vector<WorkloadPtr> all = test::pending_of(cluster.scheduler, "a");
  REQUIRE(all.size() == 15);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto told = scheduler::explain_pending(cluster.scheduler.state(), "team", all[i]->meta.name);
    REQUIRE(told);
    CHECK(told->strict);
    CHECK(told->position == i);
    REQUIRE(told->ahead.size() == std::min<size_t>(i, 10));
    for (size_t k = 0; k < told->ahead.size(); ++k) CHECK(told->ahead[k] == "team/" + all[k]->meta.name);
  }
}

TEST_CASE("explanation: what can never be admitted is told without a decision") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 4}}));
  cluster.scheduler.put(std::make_shared<const Workload>(workload("bad", "a")), {{{"cpu", 1000}}}, at(0),
                        "requests above limits");
  cluster.scheduler.follow(at(0));
  const auto told = scheduler::explain_pending(cluster.scheduler.state(), "team", "bad");
  REQUIRE(told);
  CHECK(told->reason == "Misconfigured");
  CHECK(told->message == "requests above limits");
}

}  // namespace
}  // namespace muster::test::explanation_test
