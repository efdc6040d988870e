#include "scheduler/dirty_trees.h"

#include <doctest/doctest.h>

#include <memory>

#include "scheduler/state.h"
#include "test/scheduler/scheduler_fixture.h"

namespace dirty_trees_test {

using namespace muster;
using namespace muster::scheduler;

namespace {

// One ClusterQueue, whose head can be another object from turn to turn.
struct Tree {
  SchedulerState state{SchedulerSettings{}};
  QueueState queue;
  std::vector<std::unique_ptr<WorkloadState>> workloads;
  DirtyTrees trees;

  Tree() {
    queue.node = state.capacity.tree().add_queue();
    state.capacity.tree().set_queue(queue.node, "", {}, 1);
    state.capacity.tree().settle();
    trees.mark_dirty(state.ledger.root(queue.node));
  }
  WorkloadState& head(uint64_t sequence, int flavor = 0) {
    auto& made = workloads.emplace_back(std::make_unique<WorkloadState>());
    made->sequence = sequence;
    made->object = std::make_shared<const Workload>(test::workload("w" + std::to_string(workloads.size()), "a"));
    made->queue = &queue;
    made->progress.positions.push_back({.pod_set = 0, .resource = 0, .flavor = flavor});
    queue.pending.push(*made);
    return *made;
  }
  void turn(WorkloadState& head, bool admitted = false) {
    std::vector<CycleEntry> entries;
    entries.push_back({&head});
    entries.back().admitted = admitted;
    trees.drop_quiescent(entries, state.ledger);
  }
};

}  // namespace

TEST_CASE("dirty trees: a tree leaves after a turn that looks like an earlier one") {
  Tree tree;
  WorkloadState& head = tree.head(1);
  tree.turn(head);
  CHECK(tree.trees.roots() == std::vector<NodeId>{tree.queue.node});
  tree.turn(head);
  CHECK(tree.trees.empty());
}

TEST_CASE("dirty trees: a flavor scan that goes on and an admission keep a tree") {
  Tree tree;
  WorkloadState& head = tree.head(1);
  tree.turn(head);
  head.progress.positions[0].flavor = 1;
  tree.turn(head);
  CHECK_FALSE(tree.trees.empty());
  tree.turn(head, true);
  // Whatever was seen before the admission does not count.
  tree.turn(head);
  CHECK_FALSE(tree.trees.empty());
  tree.turn(head);
  CHECK(tree.trees.empty());
}

TEST_CASE("dirty trees: a head that was parked is a change and a tree without a head leaves") {
  Tree tree;
  WorkloadState& head = tree.head(1);
  tree.queue.pending.park(head);
  for (int turn = 0; turn < 3; ++turn) tree.turn(head);
  CHECK_FALSE(tree.trees.empty());
  tree.trees.drop_quiescent({}, tree.state.ledger);
  CHECK(tree.trees.empty());
}

TEST_CASE("dirty trees: turns are told apart by Workloads and not by where they lie in memory") {
  Tree same, other;
  same.turn(same.head(1));
  same.turn(same.head(1));
  CHECK(same.trees.empty());
  other.turn(other.head(1));
  other.turn(other.head(2));
  CHECK_FALSE(other.trees.empty());
}

TEST_CASE("dirty trees: a tree with a cycle has no root and is not asked") {
  DirtyTrees trees;
  trees.mark_dirty(kNoNode);
  CHECK(trees.empty());
}

}  // namespace dirty_trees_test
