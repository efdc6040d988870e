#include "scheduler/wake_set.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "scheduler/state.h"

namespace wake_set_test {

using namespace muster;
using namespace muster::scheduler;

namespace {

// Two ClusterQueues of one Cohort and one without, after the change of the structure was taken.
struct Queues {
  SchedulerState state{SchedulerSettings{}};
  WakeSet wake{state.ledger};
  QueueState a, b, alone;

  Queues() {
    for (QueueState* queue : {&a, &b, &alone}) {
      queue->name = queue == &a ? "a" : queue == &b ? "b" : "alone";
      queue->node = state.capacity.tree().add_queue();
      state.capacity.tree().set_queue(queue->node, queue == &alone ? "" : "cohort", {}, 1);
    }
    state.capacity.tree().settle();
    wake.take_structure_change();
  }
  NodeId root(const QueueState& queue) const { return state.ledger.root(queue.node); }
};

}  // namespace

TEST_CASE("wake set: a release makes the tree of its ClusterQueue dirty once") {
  Queues queues;
  queues.wake.released(queues.a, true);
  queues.wake.released(queues.b, true);
  CHECK(queues.wake.trees().empty());
  CHECK(queues.wake.take_released_trees() == std::set<NodeId>{queues.root(queues.a)});
  CHECK(queues.wake.trees().roots() == std::vector<NodeId>{queues.root(queues.a)});
  CHECK(queues.wake.take_released_trees().empty());
}

TEST_CASE("wake set: a release by a stopped LocalQueue counts only when all other turns are done") {
  Queues queues;
  queues.wake.released(queues.alone, false);
  CHECK(queues.wake.take_released_trees().empty());
  REQUIRE(queues.wake.has_deferred_releases());
  queues.wake.release_deferred();
  CHECK_FALSE(queues.wake.has_deferred_releases());
  CHECK(queues.wake.take_released_trees() == std::set<NodeId>{queues.root(queues.alone)});
}

TEST_CASE("wake set: after a change of the structure no tree is marked before the next turn") {
  Queues queues;
  queues.wake.structure_changed();
  queues.wake.mark_dirty(queues.a);
  CHECK(queues.wake.trees().empty());
  CHECK(queues.wake.take_structure_change());
  CHECK_FALSE(queues.wake.take_structure_change());
  queues.wake.mark_dirty(queues.a);
  CHECK_FALSE(queues.wake.trees().empty());
}

TEST_CASE("wake set: a queue that is forgotten is not woken") {
  Queues queues;
  LocalQueueState local;
  for (const bool running : {true, false}) queues.wake.released(queues.alone, running);
  queues.wake.entering(local);
  queues.wake.forget(queues.alone);
  queues.wake.forget(local);
  CHECK_FALSE(queues.wake.has_deferred_releases());
  CHECK(queues.wake.take_released_trees().empty());
  CHECK(queues.wake.take_entering().empty());
}

}  // namespace wake_set_test
