#include "scheduler/dirty_trees.h"

#include <algorithm>

#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

// Turns that differ in a position have different digests; a collision would end the turns of a tree early, until its
// next event.
void mix(uint64_t& hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL + (hash >> 29);
}

// The effect of one turn on a tree.
struct Turn {
  bool changed = false;
  uint64_t digest = 0;  // of its heads and the positions of their scans; 0: it had no head
};

}  // namespace

void DirtyTrees::mark_dirty(NodeId root) {
  if (root != kNoNode) seen_[root].clear();
}

std::vector<NodeId> DirtyTrees::roots() const {
  std::vector<NodeId> roots;
  for (const auto& [root, digests] : seen_) roots.push_back(root);
  return roots;
}

void DirtyTrees::drop_quiescent(const std::vector<CycleEntry>& entries, const Ledger& ledger) {
  std::map<NodeId, Turn> turns;
  // Trees without a head have an entry too, and leave.
  for (const auto& [root, digests] : seen_) turns[root];
  std::vector<const CycleEntry*> ordered;
  ordered.reserve(entries.size());
  for (const CycleEntry& entry : entries) ordered.push_back(&entry);
  // Heads can be processed in another order although nothing has changed: the digest must not depend on it.
  std::sort(ordered.begin(), ordered.end(),
            [](const CycleEntry* a, const CycleEntry* b) { return a->workload->sequence < b->workload->sequence; });
  for (const CycleEntry* entry : ordered) {
    const WorkloadState& workload = *entry->workload;
    Turn& turn = turns[ledger.root(workload.queue->node)];
    // A head that was parked lets the next Workload of its queue become the head.
    turn.changed |= entry->admitted || entry->evicted || !workload.queue->pending.competes(workload);
    mix(turn.digest, workload.sequence);
    for (const ScanProgress::Position& position : workload.progress.positions)
      mix(turn.digest, (uint64_t{position.pod_set} << 40) ^ (uint64_t{position.resource} << 16) ^
                           static_cast<uint64_t>(position.flavor + 1));
  }
  for (const auto& [root, turn] : turns) {
    if (turn.changed)
      seen_[root].clear();
    else if (turn.digest == 0 || !seen_[root].insert(turn.digest).second)
      seen_.erase(root);
  }
}

}  // namespace muster::scheduler
