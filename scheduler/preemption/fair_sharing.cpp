#include "scheduler/preemption/fair_sharing.h"

#include <algorithm>
#include <limits>

#include "api/requests.h"
#include "scheduler/order/workload_order.h"

namespace muster::scheduler {

// KEP-1714: a weight of 2 lets a node borrow twice as much for the same share.
double DominantShare::weighted() const {
  if (infinite()) return std::numeric_limits<double>::infinity();
  return ratio == 0 ? 0 : ratio / weight;
}

// Nodes of weight 0 that borrow come after all others, and among themselves by what they borrow.
int compare(const DominantShare& a, const DominantShare& b) {
  if (a.infinite() != b.infinite()) return a.infinite() ? 1 : -1;
  const double left = a.infinite() ? a.ratio : a.weighted(), right = b.infinite() ? b.ratio : b.weighted();
  return left < right ? -1 : left > right ? 1 : 0;
}

DominantShare dominant_share(const QuotaIdTable& names, const Ledger& ledger, NodeId node) {
  DominantShare share{.weight = ledger.weight(node)};
  const NodeId parent = ledger.parent(node);
  if (parent == kNoNode) return share;
  // Few resources: a flat list is faster than a map.
  std::vector<ResourceAmount> borrowed;
  for (const QuotaId quota : ledger.quotas(node)) {
    const int64_t beyond = saturating_subtract(ledger.usage(node, quota), ledger.subtree_quota(node, quota));
    if (beyond <= 0) continue;
    const ResourceId resource = names.quota(quota).resource;
    auto it = std::find_if(borrowed.begin(), borrowed.end(),
                           [&](const ResourceAmount& entry) { return entry.resource == resource; });
    if (it == borrowed.end()) it = borrowed.insert(it, {resource, 0});
    it->amount = saturating_add(it->amount, beyond);
  }
  share.borrowing = !borrowed.empty();
  // The dominant resource is the one of which the node has the largest part.
  for (const ResourceAmount& entry : borrowed) {
    const int64_t lendable = ledger.lendable(parent, entry.resource);
    // Nothing to compare with: the quota was removed while it was in use.
    if (lendable > 0)
      share.ratio = std::max(share.ratio, static_cast<double>(entry.amount) * 1000.0 / static_cast<double>(lendable));
  }
  return share;
}

FairTournament::FairTournament(SchedulerState& state, NodeId root, std::vector<Contender> contenders)
    : state_(state), root_(root) {
  for (const Contender& contender : contenders) {
    Player player{.contender = contender, .path = {}, .levels = {}};
    for (NodeId node = contender.workload->queue->node; node != kNoNode; node = state.ledger.parent(node))
      player.path.push_back(node);
    measure(player);
    players_.push_back(std::move(player));
  }
}

// Shares as they would be after the admission: otherwise one large Workload of an idle queue would pass all others.
void FairTournament::measure(Player& player) {
  state_.subject = player.contender.workload;
  const Capacity::Simulation simulation(state_.capacity);
  state_.capacity.take(player.path.front(), *player.contender.claim);
  player.levels.clear();
  for (size_t i = 0; i + 1 < player.path.size(); ++i) {
    const NodeId node = player.path[i];
    const bool borrows = std::any_of(
        player.contender.claim->quota.begin(), player.contender.claim->quota.end(),
        [&](const QuotaAmount& entry) { return entry.amount > 0 && state_.ledger.borrowing(node, entry.quota); });
    player.levels.push_back({dominant_share(state_.names, state_.ledger, node), borrows});
  }
}

const FairTournament::Level& FairTournament::level_below(const Player& player, NodeId cohort) {
  const auto at = std::find(player.path.begin(), player.path.end(), cohort);
  return player.levels[at - player.path.begin() - 1];
}

// The order of KEP-1714, after Workloads with a claim (preemption.h, kEvictionsBeforeClaim).
bool FairTournament::better(const Player& a, const Player& b, NodeId cohort) const {
  const auto terms = [&](const Player& player) {
    const WorkloadState& workload = *player.contender.workload;
    const Level& level = level_below(player, cohort);
    return FairTerms{workload.has_claim, level.borrows_requested, level.share, workload.rank, workload.queued_since};
  };
  return compare(terms(a), terms(b)).first;
}

// A knockout: each Cohort sends the best of its queues and child Cohorts up to its parent, which compares them by the
// shares of its children.
int FairTournament::winner(NodeId cohort) const {
  int best = -1;
  const auto challenge = [&](int index) {
    if (index >= 0 && (best < 0 || better(players_[index], players_[best], cohort))) best = index;
  };
  for (const NodeId child : state_.ledger.child_cohorts(cohort)) challenge(winner(child));
  for (size_t i = 0; i < players_.size(); ++i) {
    if (!players_[i].out && state_.ledger.parent(players_[i].path.front()) == cohort) challenge(static_cast<int>(i));
  }
  return best;
}

int FairTournament::next() {
  // Shares change along the previous one's path only, and the root has none.
  if (previous_ >= 0 && players_[previous_].path.size() > 2) {
    const std::vector<NodeId>& changed = players_[previous_].path;
    const NodeId branch = changed[changed.size() - 2];
    for (Player& player : players_) {
      if (!player.out && player.path.size() > 1 && player.path[player.path.size() - 2] == branch) measure(player);
    }
  }
  // Without a Cohort there is one queue, and so at most one player.
  previous_ = state_.ledger.parent(players_.empty() ? root_ : players_[0].path.front()) == kNoNode
                  ? (!players_.empty() && !players_[0].out ? 0 : -1)
                  : winner(root_);
  if (previous_ >= 0) players_[previous_].out = true;
  return previous_;
}

}  // namespace muster::scheduler
