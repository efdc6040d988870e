#include "scheduler/cycle.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "api/requests.h"
#include "scheduler/order/workload_order.h"
#include "scheduler/partial_admission.h"
#include "scheduler/preemption/fair_sharing.h"
#include "scheduler/reservation.h"

namespace muster::scheduler {
namespace {

// A request of zero needs no quota, also where the queue borrows.
Amounts quota_to_evict_for(const Placement& placement) {
  Amounts quota = placement.claim.quota;
  std::erase_if(quota, [](const QuotaAmount& entry) { return entry.amount == 0; });
  return quota;
}

}  // namespace

void Cycle::add_invalid(WorkloadState& head, Invalid why) {
  CycleEntry entry{&head};
  entry.refusal = {.outcome = AttemptResult::kInvalid, .reason = why.reason, .invalid = std::move(why.message)};
  entry.until_changed = why.until_changed;
  invalid_.push_back(std::move(entry));
}

std::vector<Decision> Cycle::run() {
  for (CycleEntry& entry : entries_) nominate(entry);
  if (state_.fair())
    process_fairly();
  else
    process_in_order();
  // Quota that was kept for Workloads of this cycle is free again: nothing but admissions outlives a cycle.
  for (const Held& held : held_) state_.capacity.give_back(held.queue, held.claim);
  for (const CycleEntry& entry : entries_) await_wake_conditions(*entry.workload);
  for (CycleEntry& entry : invalid_) requeue(entry);
  std::move(invalid_.begin(), invalid_.end(), std::back_inserter(entries_));
  return std::move(decisions_);
}

void Cycle::nominate(CycleEntry& entry) const {
  WorkloadState& workload = *entry.workload;
  state_.subject = &workload;
  // Other requests can fit into tried flavors, and so can the same ones if quota has changed in the ClusterQueue; but a
  // scan that stopped in the last cycle continues, otherwise it would never end.
  const ScanProgress& progress = workload.progress;
  const bool is_recent = progress.cycle + 1 == state_.cycle;
  const bool quota_changed = progress.generation < workload.queue->generation;
  if (progress.shape != workload.shape || (quota_changed && !is_recent)) workload.progress = {};
  find_placement(entry);
  workload.progress = entry.placement.progress;
}

// Full size, at once or after preemption, comes before a reduced size (partial admission, KEP-420).
void Cycle::find_placement(CycleEntry& entry) const {
  const WorkloadState& workload = *entry.workload;
  entry.spared = {};
  FlavorAssigner assigner(state_, workload, now_, entry.spared);
  const Placement nominated = std::exchange(entry.placement, {});
  // A second time in one cycle: the flavors that were nominated first, as in Kueue.
  if (!nominated.pod_sets.empty()) assigner.pin(nominated);
  const auto victims_for = [&](const Placement& placement) {
    return find_victims(state_,
                        {.preemptor = workload,
                         .contested = placement.contested(),
                         .quota = quota_to_evict_for(placement),
                         .asks = asks_of(placement),
                         .now = now_},
                        entry.spared);
  };
  entry.placement = assigner.place();
  entry.victims.clear();
  if (entry.placement.mode == FitMode::kFit) return;
  if (entry.placement.mode == FitMode::kPreempt) {
    entry.victims = victims_for(entry.placement);
    if (!entry.victims.empty()) return assign_without_victims(entry);
  }
  if (!can_be_reduced(*workload.object)) return;
  Placement reduced;
  std::vector<Victim> victims;
  const bool found = largest_counts(*workload.object, [&](const std::vector<int32_t>& counts) {
    Placement attempt = assigner.place(counts);
    std::vector<Victim> victims_of_attempt;
    if (attempt.mode == FitMode::kPreempt) victims_of_attempt = victims_for(attempt);
    if (attempt.mode != FitMode::kFit && victims_of_attempt.empty()) return false;
    reduced = std::move(attempt);
    victims = std::move(victims_of_attempt);
    return true;
  });
  if (!found) return;
  entry.placement = std::move(reduced);
  entry.victims = std::move(victims);
  assign_without_victims(entry);
}

std::vector<FurtherAsk> Cycle::asks_of(const Placement& placement) const {
  return state_.capacity.has_further() ? placement.asks() : std::vector<FurtherAsk>();
}

// What it gets of further capacities once its victims have left.
void Cycle::assign_without_victims(CycleEntry& entry) const {
  if (!state_.capacity.has_further() || entry.victims.empty()) return;
  const Capacity::Simulation simulation(state_.capacity);
  SimulatedRemoval gone(state_);
  for (const Victim& victim : entry.victims) gone.take(*victim.workload);
  entry.placement.take(state_.capacity.assign_all(*entry.workload->object, entry.placement.asks()));
}

// Earlier Workloads of the cycle have taken what it was to get; on the same flavors there can be more.
void Cycle::assign_again(CycleEntry& entry) const {
  if (!state_.capacity.lacks_further(entry.placement.claim.further)) return;
  const Capacity::AssignedAll again = state_.capacity.assign_all(*entry.workload->object, entry.placement.asks());
  if (again.short_ones.empty()) entry.placement.take(again);
}

// Quota that is nearest in the tree first, because other queues can need borrowed quota; then priority, then age. A
// claim comes first: see kEvictionsBeforeClaim.
void Cycle::process_in_order() {
  std::vector<CycleEntry*> order;
  for (CycleEntry& entry : entries_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const CycleEntry* a, const CycleEntry* b) {
    return compare(head_terms(*a->workload, a->placement.level), head_terms(*b->workload, b->placement.level)).first;
  });
  for (CycleEntry* entry : order) process(*entry);
}

// Tree by tree: Cohorts by the name of the root, then ClusterQueues without a Cohort. Workloads that an earlier cycle
// blocked come first, as if that cycle continued.
void Cycle::process_fairly() {
  std::map<std::tuple<uint64_t, bool, std::string>, std::vector<CycleEntry*>> trees;
  for (CycleEntry& entry : entries_) {
    const QueueState& queue = *entry.workload->queue;
    const NodeId root = state_.ledger.root(queue.node);
    const bool alone = root == queue.node;
    trees[{blocked_in(*entry.workload), alone, alone ? queue.name : state_.ledger.name(root)}].push_back(&entry);
  }
  for (auto& [name, entries] : trees) {
    std::vector<Contender> contenders;
    for (const CycleEntry* entry : entries) contenders.push_back({entry->workload, &entry->placement.claim});
    FairTournament tournament(state_, state_.ledger.root(entries[0]->workload->queue->node), std::move(contenders));
    for (int next = tournament.next(); next >= 0; next = tournament.next()) process(*entries[next]);
  }
}

bool Cycle::overlaps(const CycleEntry& entry) const {
  return std::any_of(entry.victims.begin(), entry.victims.end(), [&](const Victim& victim) {
    return std::find(leaving_.begin(), leaving_.end(), victim.workload) != leaving_.end();
  });
}

// After all earlier victims, and its own, have released their quota.
bool Cycle::fits_without_victims(const CycleEntry& entry) {
  const Capacity::Simulation simulation(state_.capacity);
  SimulatedRemoval gone(state_);
  for (WorkloadState* workload : leaving_) gone.take(*workload);
  for (const Victim& victim : entry.victims) gone.take(*victim.workload);
  return !state_.capacity.lacks(entry.workload->queue->node, entry.placement.claim);
}

// While all victims still hold quota; quota reserved in this cycle does not count. The limits are the total of the tree
// and the maximum of its ClusterQueue: within a tree, a Cohort's limits on lending and borrowing can be exceeded until
// the victims have left.
bool Cycle::fits_beside_victims(const CycleEntry& entry) {
  const Ledger& ledger = state_.ledger;
  const NodeId queue = entry.workload->queue->node;
  const Capacity::Simulation simulation(state_.capacity);
  for (const Held& held : held_) state_.capacity.give_back(held.queue, held.claim);
  if (state_.capacity.lacks_further(entry.placement.claim.further)) return false;
  state_.capacity.take(queue, entry.placement.claim);
  return std::all_of(
      entry.placement.claim.quota.begin(), entry.placement.claim.quota.end(), [&](const QuotaAmount& used) {
        const int64_t most =
            saturating_add(ledger.nominal(queue, used.quota), ledger.borrowing_limit(queue, used.quota));
        return used.amount == 0 ||
               (!ledger.borrowing(ledger.root(queue), used.quota) && ledger.usage(queue, used.quota) <= most);
      });
}

// Its victims are already victims of other Workloads: what does it need after they have left? With the same flavors,
// from the first one.
void Cycle::recompute(CycleEntry& entry) {
  const Capacity::Simulation simulation(state_.capacity);
  SimulatedRemoval gone(state_);
  for (WorkloadState* workload : leaving_) gone.take(*workload);
  find_placement(entry);
  entry.workload->progress = entry.placement.progress;
  if (entry.placement.mode == FitMode::kFit) entry.placement.mode = FitMode::kDeferredFit;
}

void Cycle::process(CycleEntry& entry) {
  state_.subject = entry.workload;
  if (overlaps(entry)) recompute(entry);
  const FitMode mode = entry.placement.mode;
  if (mode == FitMode::kFit) assign_again(entry);
  if (mode == FitMode::kNoFit) return refuse(entry, AttemptResult::kNoFit, entry.placement.no_fit_reason);
  if (mode == FitMode::kPreempt && entry.victims.empty()) {
    // No Workload can be evicted now. Free quota is reserved for this cycle, unless it can always be
    // reclaimed.
    if (entry.workload->queue->object->preemption.reclaim_within_cohort != PreemptionPolicy::kAny)
      hold(entry, claim_to_reserve(entry));
    if (entry.spared.first_end) return await_protected(entry);
    return refuse(entry, AttemptResult::kPreemptNoCandidates, PendingReason::kWaitingForQuota);
  }
  if (!fits_without_victims(entry)) return refuse(entry, AttemptResult::kSkipped, PendingReason::kWaitingForQuota);
  for (const Victim& victim : entry.victims) leaving_.push_back(victim.workload);
  if (mode == FitMode::kPreempt) return preempt(entry);
  if (mode == FitMode::kDeferredFit || (!leaving_.empty() && !fits_beside_victims(entry))) {
    hold(entry, entry.placement.claim);
    return refuse(entry, AttemptResult::kDeferredFit, PendingReason::kWaitingForPreemptedWorkloads);
  }
  if (!state_.awaited.empty()) {
    // Later heads cannot get the quota that it will use.
    hold(entry, entry.placement.claim);
    return refuse(entry, AttemptResult::kAwaitingReady, PendingReason::kWaitingForPodsReady);
  }
  admit(entry);
}

void Cycle::hold(const CycleEntry& entry, Claim claim) {
  const NodeId queue = entry.workload->queue->node;
  // The release of a saturated sum would also remove the usage of other
  // Workloads.
  for (QuotaAmount& held : claim.quota) {
    for (NodeId node = queue; node != kNoNode; node = state_.ledger.parent(node)) {
      const int64_t room =
          saturating_subtract(std::numeric_limits<int64_t>::max(), state_.ledger.usage(node, held.quota));
      held.amount = std::min(held.amount, room);
    }
  }
  state_.capacity.take(queue, claim);
  held_.push_back({queue, std::move(claim)});
}

// The amounts that it can hold without preemption: beyond its nominal quota only if it borrows.
Claim Cycle::claim_to_reserve(const CycleEntry& entry) const {
  const NodeId queue = entry.workload->queue->node;
  Claim claim = entry.placement.claim;
  for (QuotaAmount& entry_amount : claim.quota) {
    int64_t most = state_.ledger.nominal(queue, entry_amount.quota);
    if (entry.placement.level > 0)
      most = saturating_add(most, state_.ledger.borrowing_limit(queue, entry_amount.quota));
    const int64_t left = saturating_subtract(most, state_.ledger.usage(queue, entry_amount.quota));
    entry_amount.amount = std::max<int64_t>(0, std::min(entry_amount.amount, left));
  }
  for (CapacityUse& use : claim.further) use.amount = std::min(use.amount, state_.capacity.available(queue, use.key));
  return claim;
}

void Cycle::refuse(CycleEntry& entry, AttemptResult outcome, PendingReason reason) {
  LastAttempt& refusal = entry.refusal;
  refusal.outcome = outcome;
  refusal.reason = reason;
  refusal.victims = entry.victims.size();
  for (size_t i = 0; i < entry.placement.pod_sets.size(); ++i) {
    std::vector<FlavorRejection>& obstacles = entry.placement.pod_sets[i].obstacles;
    if (!obstacles.empty()) refusal.pod_sets.push_back({static_cast<uint32_t>(i), std::move(obstacles)});
  }
  requeue(entry);
}

}  // namespace muster::scheduler
