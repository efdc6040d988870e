#include "scheduler/wake_set.h"

#include <utility>

namespace muster::scheduler {

void WakeSet::released(QueueState& queue, bool by_running_queue) {
  (by_running_queue ? released_ : deferred_releases_).insert(&queue);
}

// While the structure has changed the trees are unknown; the next turn marks all of them.
void WakeSet::mark_dirty(const QueueState& queue) {
  if (structure_changed_ || queue.node == kNoNode) return;
  trees_.mark_dirty(ledger_.root(queue.node));
}

// Both sets hold addresses, so this comes before the end of the queue.
void WakeSet::forget(QueueState& queue) {
  released_.erase(&queue);
  deferred_releases_.erase(&queue);
}

// Quota that is released in a ClusterQueue can be borrowed in its whole tree (KEP-79).
std::set<NodeId> WakeSet::take_released_trees() {
  std::set<NodeId> roots;
  for (const QueueState* queue : std::exchange(released_, {})) {
    if (queue->node != kNoNode) roots.insert(ledger_.root(queue->node));
  }
  roots.erase(kNoNode);
  for (const NodeId root : roots) trees_.mark_dirty(root);
  return roots;
}

}  // namespace muster::scheduler
