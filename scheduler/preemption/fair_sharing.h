// Fair sharing: how much of what its Cohort can lend a node takes beyond its own quota,
// and whose turn it is by that measure. Source: Kueue KEP-1714.
#pragma once

#include <span>
#include <vector>

#include "scheduler/flavor_assignment.h"
#include "scheduler/state.h"

namespace muster {

// The largest share over all resources: amount borrowed * 1000 / lendable in the Cohort.
struct DominantShare {
  double ratio = 0;
  double weight = 1;
  bool borrowing = false;

  // Weight 0 means that borrowing is never fair.
  bool infinite() const { return weight == 0 && borrowing; }
  double weighted() const;
};
// Negative when `a` has less of its share: it comes first, and is preempted last.
int compare(const DominantShare& a, const DominantShare& b);

// A root has no share.
DominantShare dominant_share(const QuotaIdTable& names, const Ledger& ledger, NodeId node);

// One nominated Workload.
struct Contender {
  const WorkloadState* workload;
  const Amounts* usage;  // what it would use
};

// Finds whose turn it is in one tree, level by level: who does not borrow what it asks for,
// then who would have the smallest share, then priority, then time.
class FairTournament {
 public:
  FairTournament(SchedulerState& state, NodeId root, std::vector<Contender> contenders);
  // The index of the contender that comes next, which is out from now on; -1 when none is left.
  // Usage may have changed in the ClusterQueue of the previous one, and nowhere else.
  int next();

 private:
  struct Level {
    DominantShare share;
    bool borrows_requested;
  };
  struct Player {
    Contender contender;
    std::vector<NodeId> path;   // ClusterQueue first, root last
    std::vector<Level> levels;  // of path[i] among the children of path[i + 1]
    bool out = false;
  };
  void measure(Player& player);
  int winner(NodeId cohort) const;
  bool better(const Player& a, const Player& b, NodeId cohort) const;
  static const Level& level_below(const Player& player, NodeId cohort);

  SchedulerState& state_;
  NodeId root_;
  std::vector<Player> players_;
  int previous_ = -1;
};

}  // namespace muster
