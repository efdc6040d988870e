#include "scheduler/quota/ledger.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

namespace ledger_test {

using namespace muster;
using namespace muster::scheduler;

namespace {

struct Tree {
  QuotaIdTable names;
  Ledger ledger{names};
  QuotaId cpu = names.quota(names.flavor("default"), names.resource("cpu"));

  NodeId queue(const char* cohort, int64_t nominal, int64_t borrowing = kUnlimited, int64_t lending = kUnlimited) {
    const NodeId node = ledger.add_queue();
    ledger.set_queue(node, cohort, {{cpu, nominal, borrowing, lending}}, 1);
    ledger.settle();
    return node;
  }
  void use(NodeId node, int64_t amount) { ledger.add(node, {{cpu, amount}}); }
};

}  // namespace

TEST_CASE("ledger: a ClusterQueue without a Cohort has its own quota and nothing else") {
  Tree tree;
  const NodeId queue = tree.queue("", 10);
  tree.use(queue, 4);
  CHECK(tree.ledger.available(queue, tree.cpu) == 6);
  CHECK(tree.ledger.potential(queue, tree.cpu) == 10);
  tree.use(queue, 9);
  CHECK(tree.ledger.available(queue, tree.cpu) == 0);
}

TEST_CASE("ledger: unused quota is lent through the Cohort up to both limits") {
  struct Row {
    const char* what;
    int64_t borrowing, lending, available;
  };
  const Row rows[] = {{"without limits all of it", kUnlimited, kUnlimited, 15},
                      {"no more than the borrower may borrow", 2, kUnlimited, 7},
                      {"no more than the lender lends", kUnlimited, 3, 8},
                      {"and the smaller of both", 4, 3, 8}};
  for (const Row& row : rows) {
    INFO(std::string(row.what));
    Tree tree;
    const NodeId borrower = tree.queue("team", 5, row.borrowing);
    tree.queue("team", 10, kUnlimited, row.lending);
    CHECK(tree.ledger.available(borrower, tree.cpu) == row.available);
    CHECK(tree.ledger.potential(borrower, tree.cpu) == row.available);
  }
}

TEST_CASE("ledger: what a ClusterQueue keeps for itself is no usage of its Cohort") {
  Tree tree;
  const NodeId lender = tree.queue("team", 10, kUnlimited, 4);
  tree.use(lender, 7);
  const NodeId team = tree.ledger.cohort("team");
  CHECK(tree.ledger.subtree_quota(team, tree.cpu) == 4);
  CHECK(tree.ledger.usage(team, tree.cpu) == 1);
  tree.ledger.remove(lender, {{tree.cpu, 7}});
  CHECK(tree.ledger.usage(team, tree.cpu) == 0);
}

TEST_CASE("ledger: the level says how far up quota has to be looked for") {
  Tree tree;
  tree.ledger.set_cohort("team", "company", {}, 1);
  const NodeId queue = tree.queue("team", 5);
  tree.queue("team", 5);
  tree.queue("company", 5);
  CHECK(tree.ledger.reach(queue, tree.cpu, 5).level == 0);
  CHECK(tree.ledger.reach(queue, tree.cpu, 10).level == 1);
  CHECK(tree.ledger.reach(queue, tree.cpu, 10).below_root);
  CHECK(tree.ledger.reach(queue, tree.cpu, 11).level == 2);
  CHECK_FALSE(tree.ledger.reach(queue, tree.cpu, 11).below_root);
}

TEST_CASE("ledger: Cohorts that are each other's parent have no root until one of them changes") {
  Tree tree;
  tree.ledger.set_cohort("a", "b", {}, 1);
  tree.ledger.set_cohort("b", "a", {}, 1);
  const NodeId queue = tree.queue("a", 5);
  CHECK(tree.ledger.root(queue) == kNoNode);
  tree.use(queue, 3);
  CHECK(tree.ledger.usage(queue, tree.cpu) == 3);
  tree.ledger.set_cohort("b", "", {}, 1);
  tree.ledger.settle();
  CHECK(tree.ledger.root(queue) == tree.ledger.cohort("b"));
  CHECK(tree.ledger.available(queue, tree.cpu) == 2);
}

TEST_CASE("ledger: a simulation leaves no trace and neither does one inside another") {
  Tree tree;
  const NodeId queue = tree.queue("team", 5), other = tree.queue("team", 5);
  tree.use(queue, 3);
  {
    const Ledger::Simulation outer(tree.ledger);
    tree.use(queue, 4);
    {
      const Ledger::Simulation inner(tree.ledger);
      tree.use(other, 2);
      CHECK(tree.ledger.available(other, tree.cpu) == 1);
    }
    CHECK(tree.ledger.available(other, tree.cpu) == 3);
  }
  CHECK(tree.ledger.usage(queue, tree.cpu) == 3);
  CHECK(tree.ledger.available(other, tree.cpu) == 7);
}

TEST_CASE("ledger: amounts beyond 64 bits stop at the end instead of wrapping") {
  Tree tree;
  const NodeId queue = tree.queue("team", kUnlimited - 1), other = tree.queue("team", kUnlimited - 1);
  CHECK(tree.ledger.potential(queue, tree.cpu) == kUnlimited);
  tree.use(queue, kUnlimited);
  CHECK(tree.ledger.available(other, tree.cpu) >= 0);
  tree.use(other, kUnlimited);
  CHECK(tree.ledger.available(queue, tree.cpu) == 0);
}

TEST_CASE("ledger: a release undoes a reservation also where their sum is beyond 64 bits") {
  Tree tree;
  const NodeId queue = tree.queue("team", kUnlimited), other = tree.queue("team", kUnlimited, kUnlimited, 0);
  for (int i = 0; i < 3; ++i) tree.use(queue, kUnlimited);
  tree.use(other, 5);
  CHECK(tree.ledger.usage(queue, tree.cpu) == kUnlimited);
  for (int left = 2; left > 0; --left) {
    tree.ledger.remove(queue, {{tree.cpu, kUnlimited}});
    CHECK(tree.ledger.usage(queue, tree.cpu) == kUnlimited);
    CHECK(tree.ledger.usage(tree.ledger.cohort("team"), tree.cpu) == kUnlimited);
    CHECK(tree.ledger.available(queue, tree.cpu) == 0);
  }
  tree.ledger.remove(queue, {{tree.cpu, kUnlimited}});
  CHECK(tree.ledger.usage(queue, tree.cpu) == 0);
  CHECK(tree.ledger.usage(tree.ledger.cohort("team"), tree.cpu) == 0);
  CHECK(tree.ledger.available(queue, tree.cpu) == kUnlimited);
  CHECK(tree.ledger.available(other, tree.cpu) == kUnlimited);
}

TEST_CASE("ledger: usage stays when a ClusterQueue moves to another Cohort or changes its limits") {
  Tree tree;
  const NodeId queue = tree.queue("team", 5);
  tree.use(queue, 4);
  tree.ledger.set_queue(queue, "other", {{tree.cpu, 6, kUnlimited, kUnlimited}}, 1);
  tree.ledger.settle();
  CHECK(tree.ledger.cohort("team") == kNoNode);
  CHECK(tree.ledger.usage(tree.ledger.cohort("other"), tree.cpu) == 4);
  CHECK(tree.ledger.available(queue, tree.cpu) == 2);
}

// The model counts each time from all reservations, as the definition of quota says it.
TEST_CASE("ledger: any sequence of reservations and releases ends where a recount from nothing does") {
  const bool holds = rc::check([] {
    Tree tree;
    std::vector<NodeId> queues;
    std::vector<std::array<int64_t, 3>> limits;
    const int count = *rc::gen::inRange(1, 5);
    tree.ledger.set_cohort("team", "company", {{tree.cpu, *rc::gen::inRange(0, 10), kUnlimited, kUnlimited}}, 1);
    for (int i = 0; i < count; ++i) {
      limits.push_back({*rc::gen::inRange(0, 20), *rc::gen::inRange(0, 20), *rc::gen::inRange(0, 20)});
      queues.push_back(tree.queue(i % 2 == 0 ? "team" : "company", limits[i][0], limits[i][1], limits[i][2]));
    }
    std::vector<int64_t> used(count);
    for (const auto& [which, amount] : *rc::gen::container<std::vector<std::pair<int, int>>>(
             rc::gen::pair(rc::gen::inRange(0, count), rc::gen::inRange(-15, 15)))) {
      const int64_t change = std::max<int64_t>(amount, -used[which]);
      if (change >= 0)
        tree.ledger.add(queues[which], {{tree.cpu, change}});
      else
        tree.ledger.remove(queues[which], {{tree.cpu, -change}});
      used[which] += change;
    }
    Tree recount;
    recount.ledger.set_cohort(
        "team", "company",
        {{recount.cpu, tree.ledger.nominal(tree.ledger.cohort("team"), tree.cpu), kUnlimited, kUnlimited}}, 1);
    std::vector<NodeId> again;
    for (int i = 0; i < count; ++i) {
      again.push_back(recount.queue(i % 2 == 0 ? "team" : "company", limits[i][0], limits[i][1], limits[i][2]));
      recount.use(again[i], used[i]);
    }
    for (int i = 0; i < count; ++i) {
      RC_ASSERT(tree.ledger.usage(queues[i], tree.cpu) == used[i]);
      RC_ASSERT(tree.ledger.available(queues[i], tree.cpu) == recount.ledger.available(again[i], recount.cpu));
    }
    int64_t beyond_team = 0;
    for (int i = 0; i < count; i += 2)
      beyond_team += std::max<int64_t>(0, used[i] - std::max<int64_t>(0, limits[i][0] - limits[i][2]));
    RC_ASSERT(tree.ledger.usage(tree.ledger.cohort("team"), tree.cpu) == beyond_team);
  });
  CHECK(holds);
}

}  // namespace ledger_test
