// What must be evaluated again, and why: the events since the last turn, and the trees of Cohorts that they concern.
//
// Events are only noted here, because most of their effects need the time, which the next turn has. Holds no ownership;
// forget() a queue before it is destroyed. One thread.
#pragma once

#include <set>
#include <utility>

#include "scheduler/capacity/claim.h"
#include "scheduler/dirty_trees.h"
#include "scheduler/quota/ledger.h"
#include "scheduler/state.h"

namespace muster::scheduler {

class WakeSet {
 public:
  explicit WakeSet(const Ledger& ledger) : ledger_(ledger) {}

  // Queues, flavors, limits or namespaces have changed: every Workload is evaluated again.
  void structure_changed() { structure_changed_ = true; }
  // Quota of the ClusterQueue was released, so its tree is due for a retry. Not `by_running_queue`: by a Workload of a
  // stopped or deleted LocalQueue. Kueue forgets this retry, and so does a single turn; drain() does it after all
  // others.
  void released(QueueState& queue, bool by_running_queue);
  // Uses of further capacities were released, if the claim had any: the trees of all ClusterQueues are due.
  void released_further(const Claim& claim) { further_released_ |= !claim.further.empty(); }
  void released_further() { further_released_ = true; }
  // The Workloads of the LocalQueue that are in no queue can enter one.
  void entering(LocalQueueState& queue) { entering_.insert(&queue); }
  // The pending Workloads of the ClusterQueue have changed.
  void mark_dirty(const QueueState& queue);
  void forget(QueueState& queue);
  void forget(LocalQueueState& queue) { entering_.erase(&queue); }

  // Each event once.
  bool take_structure_change() { return std::exchange(structure_changed_, false); }
  std::set<LocalQueueState*, ByName> take_entering() { return std::exchange(entering_, {}); }
  bool take_further_release() { return std::exchange(further_released_, false); }
  // The roots of the trees with a release, which become dirty.
  std::set<NodeId> take_released_trees();

  bool has_deferred_releases() const { return !deferred_releases_.empty(); }
  // They count as releases from now on; no other release is left then.
  void release_deferred() { released_.swap(deferred_releases_); }

  DirtyTrees& trees() { return trees_; }

 private:
  const Ledger& ledger_;
  bool structure_changed_ = true;
  std::set<QueueState*, ByName> released_;
  std::set<QueueState*, ByName> deferred_releases_;
  bool further_released_ = false;
  std::set<LocalQueueState*, ByName> entering_;
  DirtyTrees trees_;
};

}  // namespace muster::scheduler
