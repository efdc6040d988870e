// Fair sharing: the part of the Cohort's lendable quota that a node borrows, and the next node by this share. Source:
// Kueue KEP-1714.
#pragma once

#include <span>
#include <vector>

#include "scheduler/capacity/claim.h"
#include "scheduler/flavor_assignment.h"
#include "scheduler/state.h"

namespace muster::scheduler {

// The largest share over all resources: amount borrowed * 1000 / lendable in the Cohort.
struct DominantShare {
  double ratio = 0;
  double weight = 1;
  bool borrowing = false;

  // Weight 0 means that borrowing is never fair.
  bool infinite() const { return weight == 0 && borrowing; }
  double weighted() const;
};
// Negative when `a` has the smaller share: it comes first, and is preempted last.
int compare(const DominantShare& a, const DominantShare& b);

// A root has no share.
DominantShare dominant_share(const QuotaIdTable& names, const Ledger& ledger, NodeId node);

// One nominated Workload.
struct Contender {
  const WorkloadState* workload;
  const Claim* claim;  // that it has after an admission
};

// Finds the next contender of one tree, level by level: first a request without borrowing, then the smallest share
// after the admission, then priority, then time.
class FairTournament {
 public:
  FairTournament(SchedulerState& state, NodeId root, std::vector<Contender> contenders);
  // The index of the next contender, which is removed; -1 when no contender is left. Usage can change in the
  // ClusterQueue of the previous one, and nowhere else.
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

}  // namespace muster::scheduler
