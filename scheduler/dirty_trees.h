// The trees of Cohorts in which a turn may still change something, and when to stop asking them.
//
// A tree comes in with an event and leaves after a turn that admitted, evicted and parked nothing in it, and that
// looked like an earlier turn: such a tree would go on like that for ever. Flavor scans that go on from turn to turn
// (KEP-582) make turns differ, so one quiet turn alone does not say that a tree is at rest. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "scheduler/cycle.h"
#include "scheduler/quota/ledger.h"

namespace muster {

class DirtyTrees {
 public:
  // Something has happened in the tree of this root; kNoNode: in none that could be asked.
  void mark_dirty(NodeId root);
  void clear() { seen_.clear(); }
  bool empty() const { return seen_.empty(); }
  // In the order of their ids.
  std::vector<NodeId> roots() const;
  // `entries`: the heads of one turn of these trees, after it. A tree without a head leaves.
  void drop_quiescent(const std::vector<CycleEntry>& entries, const Ledger& ledger);

 private:
  // By root: digests of the turns that it has had since something happened.
  std::map<NodeId, std::set<uint64_t>> seen_;
};

}  // namespace muster
