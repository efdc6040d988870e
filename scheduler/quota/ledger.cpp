#include "scheduler/quota/ledger.h"

#include <algorithm>

#include "api/requests.h"

namespace muster::scheduler {
namespace {

int64_t saturated(WideAmount amount) {
  return static_cast<int64_t>(
      std::clamp<WideAmount>(amount, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

}  // namespace

void add_amount(Amounts& amounts, QuotaId quota, int64_t amount) {
  const auto at = std::lower_bound(amounts.begin(), amounts.end(), quota,
                                   [](const QuotaAmount& entry, QuotaId id) { return entry.quota < id; });
  if (at != amounts.end() && at->quota == quota)
    at->amount = saturating_add(at->amount, amount);
  else
    amounts.insert(at, {quota, amount});
}

// Backwards, because one cell can have changed several times. An outer simulation goes on with the rest of the log.
Ledger::Simulation::~Simulation() {
  while (ledger_.log_.size() > mark_) {
    ledger_.log_.back().cell->usage = ledger_.log_.back().usage;
    ledger_.log_.pop_back();
  }
  --ledger_.simulations_;
}

// lendingLimit (KEP-1224): the part of its quota that no other node can use.
WideAmount Ledger::Cell::kept() const {
  return lending == kUnlimited ? 0 : std::max<WideAmount>(0, subtree - lending);
}

int64_t Ledger::usage(NodeId node, QuotaId quota) const {
  return saturated(cell(node, quota).usage);
}

int64_t Ledger::subtree_quota(NodeId node, QuotaId quota) const {
  return saturated(cell(node, quota).subtree);
}

NodeId Ledger::cohort(std::string_view name) const {
  const auto it = cohorts_.find(name);
  return it == cohorts_.end() ? kNoNode : it->second;
}

// Nodes have few quotas: a sorted array is smaller and faster than a map.
const Ledger::Cell& Ledger::cell(NodeId node, QuotaId quota) const {
  static const Cell kEmpty;
  const Node& at = nodes_[node];
  const auto it = std::lower_bound(at.quotas.begin(), at.quotas.end(), quota);
  if (it == at.quotas.end() || *it != quota) return kEmpty;
  return at.cells[it - at.quotas.begin()];
}

Ledger::Cell* Ledger::find_cell(NodeId node, QuotaId quota) {
  const Cell& found = cell(node, quota);
  const Node& at = nodes_[node];
  const bool own = !at.cells.empty() && &found >= at.cells.data() && &found < at.cells.data() + at.cells.size();
  return own ? const_cast<Cell*>(&found) : nullptr;
}

Ledger::Cell& Ledger::own_cell(NodeId node, QuotaId quota) {
  if (Cell* found = find_cell(node, quota)) return *found;
  Node& at = nodes_[node];
  const auto it = std::lower_bound(at.quotas.begin(), at.quotas.end(), quota);
  const auto index = it - at.quotas.begin();
  // A Workload can request a quota that its tree does not have, also in a simulation. Then the cells of the node move,
  // and the log is updated.
  std::vector<std::pair<Undo*, ptrdiff_t>> logged;
  for (Undo& undo : log_) {
    const auto place = std::find_if(at.cells.begin(), at.cells.end(), [&](Cell& cell) { return &cell == undo.cell; });
    if (place != at.cells.end()) logged.emplace_back(&undo, place - at.cells.begin());
  }
  at.quotas.insert(it, quota);
  at.cells.insert(at.cells.begin() + index, Cell{});
  for (const auto& [undo, place] : logged) undo->cell = &at.cells[place + (place >= index ? 1 : 0)];
  return at.cells[index];
}

// The quota that the node keeps (lendingLimit) plus the part of its parent's quota within borrowingLimit. Negative when
// the node, or a node above it, exceeds its quota: debts of other nodes count (KEP-79).
WideAmount Ledger::debt_or_available(NodeId node, QuotaId quota) const {
  const Cell& own = cell(node, quota);
  const NodeId up = nodes_[node].parent;
  if (up == kNoNode) return own.subtree - own.usage;
  WideAmount from_parent = debt_or_available(up, quota);
  const WideAmount kept = own.kept();
  if (own.borrowing != kUnlimited) {
    const WideAmount stored = own.subtree - kept;
    const WideAmount taken = std::max<WideAmount>(0, own.usage - kept);
    from_parent = std::min(from_parent, stored - taken + own.borrowing);
  }
  return std::max<WideAmount>(0, kept - own.usage) + from_parent;
}

// A debt counts as no quota.
int64_t Ledger::available(NodeId queue, QuotaId quota) const {
  return saturated(std::max<WideAmount>(0, debt_or_available(queue, quota)));
}

// A request for more cannot be met by any release: reason ExceedsMaxQuota.
int64_t Ledger::potential(NodeId node, QuotaId quota) const {
  return saturated(wide_potential(node, quota));
}

WideAmount Ledger::wide_potential(NodeId node, QuotaId quota) const {
  const Cell& own = cell(node, quota);
  const NodeId up = nodes_[node].parent;
  if (up == kNoNode) return own.subtree;
  const WideAmount all = own.kept() + wide_potential(up, quota);
  return own.borrowing == kUnlimited ? all : std::min(all, own.subtree + own.borrowing);
}

int64_t Ledger::local_available(NodeId node, QuotaId quota) const {
  const Cell& own = cell(node, quota);
  return saturated(std::max<WideAmount>(0, own.kept() - own.usage));
}

bool Ledger::fits(NodeId queue, const Amounts& usage) const {
  return std::all_of(usage.begin(), usage.end(),
                     [&](const QuotaAmount& entry) { return entry.amount <= available(queue, entry.quota); });
}

bool Ledger::borrowing_with(NodeId node, QuotaId quota, int64_t amount) const {
  const Cell& own = cell(node, quota);
  return own.usage + amount > own.subtree;
}

// Such a queue borrows nothing, so nothing can be reclaimed from it (KEP-83).
bool Ledger::within_quota(NodeId node, std::span<const QuotaId> quotas) const {
  return std::none_of(quotas.begin(), quotas.end(), [&](QuotaId quota) { return borrowing(node, quota); });
}

// How far up the tree quota must come from: the lowest Cohort whose own quota is enough. Nearer quota is preferred,
// since borrowing from it disturbs fewer queues (KEP-79, hierarchical preemption).
Ledger::Reach Ledger::reach(NodeId queue, QuotaId quota, int64_t amount) const {
  const bool has_parent = nodes_[queue].parent != kNoNode;
  if (!has_parent || !borrowing_with(queue, quota, amount)) return {0, has_parent};
  int64_t remaining = saturating_subtract(amount, local_available(queue, quota));
  NodeId at = nodes_[queue].parent;
  while (borrowing_with(at, quota, remaining) && nodes_[at].parent != kNoNode) {
    remaining = saturating_subtract(remaining, local_available(at, quota));
    at = nodes_[at].parent;
  }
  return {nodes_[at].height, nodes_[at].parent != kNoNode};
}

int64_t Ledger::lendable(NodeId cohort, ResourceId resource) const {
  for (const auto& [id, amount] : nodes_[cohort].lendable) {
    if (id == resource) return amount;
  }
  return 0;
}

void Ledger::set_usage(Cell& cell, WideAmount usage) {
  if (simulations_ > 0) log_.push_back({&cell, cell.usage});
  cell.usage = usage;
}

// What the node keeps for itself is used first; only the rest is usage of its parent (KEP-79).
void Ledger::add_one(NodeId node, QuotaId quota, WideAmount amount) {
  Cell& own = own_cell(node, quota);
  const WideAmount beyond = amount - std::max<WideAmount>(0, own.kept() - own.usage);
  set_usage(own, own.usage + amount);
  if (beyond > 0 && nodes_[node].parent != kNoNode) add_one(nodes_[node].parent, quota, beyond);
}

// The opposite: what was taken from the parent goes back first.
void Ledger::remove_one(NodeId node, QuotaId quota, WideAmount amount) {
  Cell& own = own_cell(node, quota);
  const WideAmount stored_above = own.usage - own.kept();
  set_usage(own, own.usage - amount);
  if (stored_above > 0 && nodes_[node].parent != kNoNode)
    remove_one(nodes_[node].parent, quota, std::min(amount, stored_above));
}

void Ledger::add(NodeId queue, const Amounts& usage) {
  settle();
  for (const QuotaAmount& entry : usage) add_one(queue, entry.quota, entry.amount);
}

void Ledger::remove(NodeId queue, const Amounts& usage) {
  settle();
  for (const QuotaAmount& entry : usage) remove_one(queue, entry.quota, entry.amount);
}

}  // namespace muster::scheduler
