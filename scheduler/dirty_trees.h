// The trees of Cohorts in which a turn can still change something, and when to stop the turns.
//
// An event adds a tree. It is removed after a turn without admission, eviction or parking that equals an earlier turn:
// all later turns would be the same. Flavor scans that continue from turn to turn (KEP-582) make turns differ, so one
// turn without a change does not prove that a tree is stable. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "scheduler/cycle.h"
#include "scheduler/quota/ledger.h"

namespace muster::scheduler {

class DirtyTrees {
 public:
  // An event has happened in the tree of this root; kNoNode: in no tree that can be scheduled.
  void mark_dirty(NodeId root);
  void clear() { seen_.clear(); }
  bool empty() const { return seen_.empty(); }
  // In the order of their ids.
  std::vector<NodeId> roots() const;
  // `entries`: the heads of one turn of these trees, after it. A tree without a head leaves.
  void drop_quiescent(const std::vector<CycleEntry>& entries, const Ledger& ledger);

 private:
  // By root: digests of its turns since the last event.
  std::map<NodeId, std::set<uint64_t>> seen_;
};

}  // namespace muster::scheduler
