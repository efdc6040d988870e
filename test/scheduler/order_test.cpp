#include "scheduler/views/order.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "test/scheduler/scheduler_fixture.h"

namespace muster::test::order_test {
namespace {

using scheduler::OrderTerm;

std::vector<std::string> names_of(const std::vector<scheduler::OrderedWorkload>& queue) {
  std::vector<std::string> names;
  for (const auto& each : queue) names.push_back(each.object->meta.name);
  return names;
}

// What a reader sees, and no more: sorted by it, rows must be in the order of the scheduler.
bool printed_before(const scheduler::OrderedWorkload& a, const scheduler::OrderedWorkload& b) {
  return std::tuple(!a.sticky, -int64_t{a.priority}, a.since, a.object->meta.uid) <
         std::tuple(!b.sticky, -int64_t{b.priority}, b.since, b.object->meta.uid);
}

Workload evicted(Workload workload, const char* reason, int64_t seconds) {
  set_condition(workload.status.conditions, {.type = "Evicted",
                                             .status = "True",
                                             .reason = reason,
                                             .message = {},
                                             .last_transition = to_timestamp(at(seconds).wall)});
  return workload;
}

TEST_CASE("order: sorting by the printed terms gives the scheduler's order, from wherever it is asked") {
  const bool holds = rc::check([] {
    Cluster cluster;
    cluster.put(cluster_queue("a", "", {{.nominal = 0}}));
    const int count = *rc::gen::inRange(1, 14);
    for (int i = 0; i < count; ++i) {
      Workload made =
          workload("w" + std::to_string(i * 5 % 14), "a", *rc::gen::inRange(-1, 2), *rc::gen::inRange(0, 3));
      const int how = *rc::gen::inRange(0, 4);
      if (how == 1) made = evicted(made, "PodsReadyTimeout", *rc::gen::inRange(0, 3) - 1000);
      if (how == 2) made = evicted(made, "Preempted", 5);
      cluster.put(made, *rc::gen::inRange(1, 4));
    }
    cluster.scheduler.follow(at(0));
    const std::vector<WorkloadPtr> all = pending_of(cluster.scheduler, "a");
    RC_ASSERT(all.size() == static_cast<size_t>(count));
    for (size_t i = 0; i < all.size(); ++i) {
      const auto order = scheduler::order_of(cluster.scheduler.state(), "team", all[i]->meta.name);
      RC_ASSERT(order.has_value());
      RC_ASSERT(order->position == i);
      RC_ASSERT(order->pending == all.size());
      size_t ahead = 0;
      for (const auto& [term, number] : order->ahead_by) ahead += number;
      RC_ASSERT(ahead == i);
      auto sorted = order->queue;
      std::sort(sorted.begin(), sorted.end(), printed_before);
      RC_ASSERT(names_of(sorted) == names_of(order->queue));
      for (const auto& each : order->queue) {
        RC_ASSERT(all[each.position]->meta.name == each.object->meta.name);
        RC_ASSERT(each.itself == (each.position == i));
        // The term that is named is the first one that differs.
        const auto& mine = *all[i];
        if (each.itself) {
          RC_ASSERT(each.decided_by == OrderTerm::kNone);
        } else if (each.priority != mine.priority) {
          RC_ASSERT(each.decided_by == OrderTerm::kPriority);
        } else {
          RC_ASSERT(each.decided_by == OrderTerm::kTime || each.decided_by == OrderTerm::kUid);
        }
      }
    }
  });
  CHECK(holds);
}

TEST_CASE("order: the first ones and those around it are shown, with their places") {
  Cluster cluster;
  cluster.put(cluster_queue("a", "", {{.nominal = 0}}));
  for (int i = 0; i < 30; ++i) cluster.put(workload("w" + std::to_string(10 + i), "a", 0, i), 1);
  cluster.scheduler.follow(at(0));
  const auto order = scheduler::order_of(cluster.scheduler.state(), "team", "w30");
  REQUIRE(order);
  CHECK(order->position == 20);
  CHECK(order->pending == 30);
  CHECK(names_of(order->queue) ==
        std::vector<std::string>{"w10", "w11", "w12", "w26", "w27", "w28", "w29", "w30", "w31", "w32", "w33", "w34"});
  CHECK(order->ahead_by == std::map<OrderTerm, size_t>{{OrderTerm::kTime, 20}});
  CHECK(order->heads.empty());
}

TEST_CASE("order: which time it is, and the sticky head") {
  Cluster cluster;
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 4}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  cluster.put(queue);
  cluster.put(workload("victim", "a", 0), 4);
  const auto decisions = cluster.scheduler.cycle(at(0));
  cluster.confirm(admission(decisions), 4);
  cluster.put(workload("preemptor", "a", 1, 5), 4, 100);
  CHECK(cluster.cycle(100).find("-victim") != std::string::npos);
  cluster.put(workload("higher", "a", 9, 6), 4, 101);
  cluster.put(evicted(workload("late", "a", 9, 0), "PodsReadyTimeout", -1), 4, 101);
  cluster.scheduler.follow(at(101));
  const auto order = scheduler::order_of(cluster.scheduler.state(), "team", "late");
  REQUIRE(order);
  CHECK(names_of(order->queue) == std::vector<std::string>{"preemptor", "higher", "late"});
  CHECK(order->queue[0].sticky);
  CHECK(order->queue[0].decided_by == OrderTerm::kSticky);
  CHECK(order->queue[1].since_of == scheduler::OrderTimeOf::kCreation);
  CHECK(order->queue[2].since_of == scheduler::OrderTimeOf::kEviction);
  CHECK(order->queue[2].since == to_timestamp(at(-1).wall));
}

// The names of a cycle's decisions, in their order.
std::vector<std::string> processed(const std::string& told) {
  std::vector<std::string> names;
  std::istringstream words(told);
  for (std::string word; words >> word;) names.push_back(word.substr(1, word.find(':') - 1));
  return names;
}

TEST_CASE("order: the heads of a Cohort are in the order in which a cycle takes them") {
  const bool holds = rc::check([] {
    Cluster cluster;
    const std::vector<std::string> queues = {"a", "b", "c", "d"};
    for (const std::string& name : queues)
      cluster.put(cluster_queue(name.c_str(), "all", {{.nominal = *rc::gen::inRange(0, 3)}}));
    for (const std::string& name : queues)
      cluster.put(workload("of-" + name, name.c_str(), *rc::gen::inRange(0, 2),
                           *rc::gen::inRange(0, 100) * 4 + (name[0] - 'a')),
                  *rc::gen::inRange(1, 4));
    cluster.scheduler.follow(at(0));
    const auto order = scheduler::order_of(cluster.scheduler.state(), "team", "of-a");
    RC_ASSERT(order.has_value());
    RC_ASSERT(order->heads.size() == 4u);
    std::vector<std::string> expected;
    for (const auto& head : order->heads) expected.push_back(head.workload.object->meta.name);
    RC_ASSERT(processed(cluster.cycle()) == expected);
  });
  CHECK(holds);
}

TEST_CASE("order: with fair sharing a head that does not borrow comes first, then the smaller share") {
  Cluster cluster({.fair_sharing = {FairStrategy::kLessThanOrEqualToFinalShare}});
  ClusterQueue heavy = cluster_queue("heavy", "all", {{.nominal = 0}});
  heavy.fair_weight = Quantity::of(4);
  cluster.put(heavy);
  cluster.put(cluster_queue("light", "all", {{.nominal = 0}}));
  cluster.put(cluster_queue("owner", "all", {{.nominal = 8}}));
  cluster.put(workload("of-heavy", "heavy", 0, 9), 4);
  cluster.put(workload("of-light", "light", 5, 1), 4);
  cluster.put(workload("of-owner", "owner", 0, 20), 4);
  cluster.scheduler.follow(at(0));
  const auto order = scheduler::order_of(cluster.scheduler.state(), "team", "of-light");
  REQUIRE(order);
  CHECK(order->fair);
  REQUIRE(order->heads.size() == 3);
  CHECK(order->heads[0].workload.object->meta.name == "of-owner");
  CHECK(order->heads[0].workload.decided_by == OrderTerm::kBorrowing);
  CHECK(order->heads[1].workload.object->meta.name == "of-heavy");
  CHECK(order->heads[1].workload.decided_by == OrderTerm::kShare);
  CHECK(order->heads[1].share.ratio == 500);
  CHECK(order->heads[1].share.weight == 4);
  CHECK(order->heads[2].workload.itself);
  // Nothing was admitted by looking.
  CHECK(usage_of(cluster.scheduler, "heavy", "default", "cpu") == 0);
  CHECK(processed(cluster.cycle()).front() == "of-owner");
}

}  // namespace
}  // namespace muster::test::order_test
