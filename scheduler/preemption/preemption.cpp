#include "scheduler/preemption/preemption.h"

#include <algorithm>

#include "scheduler/preemption/preemption_search.h"

namespace muster::scheduler {
namespace {

// Only a Workload that holds one of the contested quotas can help.
bool uses_any(const WorkloadState& workload, const std::vector<QuotaId>& quotas) {
  const std::vector<QuotaId>& used_quotas = workload.holding().used_quotas;
  return std::any_of(used_quotas.begin(), used_quotas.end(),
                     [&](QuotaId used) { return std::find(quotas.begin(), quotas.end(), used) != quotas.end(); });
}

// The same for further capacities. Which of their units the preemptor would get is open until the victims are known, so
// a holder of any unit can help; who does not is put back.
bool holds_any(const WorkloadState& workload, const std::vector<CapacityId>& capacities) {
  const CapacityUses& held = workload.holding().claim.further;
  return std::any_of(held.begin(), held.end(), [&](const CapacityUse& use) {
    return std::find(capacities.begin(), capacities.end(), use.key.capacity) != capacities.end();
  });
}

// withinClusterQueue and reclaimWithinCohort (KEP-83). The times are those of the queue's order, so a Workload does not
// evict one before which it would not have been admitted.
bool satisfies(PreemptionPolicy policy, const WorkloadState& preemptor, const WorkloadState& candidate) {
  const bool lower = preemptor.priority() > candidate.priority();
  switch (policy) {
    case PreemptionPolicy::kNever:
      return false;
    case PreemptionPolicy::kLowerPriority:
      return lower;
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      return lower || (preemptor.priority() == candidate.priority() && preemptor.queued_since < candidate.queued_since);
    case PreemptionPolicy::kAny:
      return true;
  }
  return false;
}

}  // namespace

std::string_view to_text(PreemptionReason reason) {
  switch (reason) {
    case PreemptionReason::kInClusterQueue:
      return kInClusterQueueReason;
    case PreemptionReason::kInCohortReclamation:
      return kInCohortReclamationReason;
    case PreemptionReason::kInCohortReclaimWhileBorrowing:
      return kInCohortReclaimWhileBorrowingReason;
    case PreemptionReason::kInCohortFairSharing:
      return kInCohortFairSharingReason;
  }
  return "";
}

// Kueue's words in the messages of the conditions Evicted and Preempted.
std::string_view explanation_of(PreemptionReason reason) {
  switch (reason) {
    case PreemptionReason::kInClusterQueue:
      return "prioritization in the ClusterQueue";
    case PreemptionReason::kInCohortReclamation:
      return "reclamation within the cohort";
    case PreemptionReason::kInCohortReclaimWhileBorrowing:
      return "reclamation within the cohort while borrowing";
    case PreemptionReason::kInCohortFairSharing:
      return "Fair Sharing within the cohort";
  }
  return "";
}

int recent_evictions(const WorkloadState& victim, const WorkloadState& preemptor, Timestamp now) {
  // One entry for each preemptor; old evictions are forgotten.
  for (const Eviction& eviction : victim.evictions) {
    if (eviction.preemptor_uid != preemptor.object->meta.uid) continue;
    return now.seconds - eviction.last.seconds <= kEvictionMemorySeconds ? eviction.count : 0;
  }
  return 0;
}

bool may_evict(const SchedulerState& state, const PreemptionRequest& request, PreemptionPolicy policy,
               const WorkloadState& candidate, Spared& spared) {
  if (candidate.holding().taken_away || !candidate.can_be_stopped ||
      (!uses_any(candidate, request.contested) && !holds_any(candidate, request.short_ones)) ||
      !satisfies(policy, request.preemptor, candidate))
    return false;
  // Its quota comes back anyway, so it is taken without any limit of evictions or protection.
  if (candidate.holding().evicting) return true;
  if (recent_evictions(candidate, request.preemptor, to_timestamp(request.now.wall)) >= kMostEvictions) return false;
  const auto protection = protected_until(state, request.preemptor, candidate);
  if (!protection || *protection <= request.now.monotonic) return true;
  spared.note(*protection);
  return false;
}

// Kueue's order of candidates (KEP-83): those that are being evicted, then other queues' Workloads, low priorities, and
// the latest reservations, which have the least work to lose. The uid makes the order total.
bool evicted_before(const PreemptionRequest& request, const WorkloadState& a, const WorkloadState& b) {
  const WorkloadState::Holding &left = a.holding(), &right = b.holding();
  if (left.evicting != right.evicting) return left.evicting;
  const bool a_own = a.queue == request.preemptor.queue, b_own = b.queue == request.preemptor.queue;
  if (a_own != b_own) return b_own;
  if (a.priority() != b.priority()) return a.priority() < b.priority();
  if (left.reserved_at != right.reserved_at) return left.reserved_at > right.reserved_at;
  return a.object->meta.uid < b.object->meta.uid;
}

// `allow_borrowing` false: the preemptor can only use its own quota, for searches that must not evict other queues'
// Workloads in order to borrow (KEP-1337).
bool fits_now(const SchedulerState& state, const PreemptionRequest& request, bool allow_borrowing) {
  const NodeId queue = request.preemptor.queue->node;
  const Amounts& amounts = request.quota;
  const bool borrows = !allow_borrowing && std::any_of(amounts.begin(), amounts.end(), [&](const QuotaAmount& entry) {
    return state.ledger.borrowing_with(queue, entry.quota, entry.amount);
  });
  return !borrows && state.ledger.fits(queue, amounts) &&
         (request.asks.empty() ||
          state.capacity.assign_all(*request.preemptor.object, request.asks).short_ones.empty());
}

// Candidates were taken in order, so an early one can turn out to be unnecessary once a larger one was taken. The last
// one made it fit and stays.
void put_back(SchedulerState& state, const PreemptionRequest& request, bool allow_borrowing,
              std::vector<Victim>& victims) {
  for (size_t i = victims.size() - 1; i-- > 0;) {
    const WorkloadState& victim = *victims[i].workload;
    state.capacity.take(victim.queue->node, victim.holding().claim);
    if (fits_now(state, request, allow_borrowing)) {
      victims[i] = victims.back();
      victims.pop_back();
    } else {
      state.capacity.give_back(victim.queue->node, victim.holding().claim);
    }
  }
}

std::vector<Victim> find_victims(SchedulerState& state, PreemptionRequest request, Spared& spared) {
  if (!request.asks.empty())
    request.short_ones = state.capacity.assign_all(*request.preemptor.object, request.asks).short_ones;
  return state.fair() ? fair_victims(state, request, spared) : classic_victims(state, request, spared);
}

// Kueue's preemption oracle: flavors are compared by what preemption would do on each of them, before one is chosen
// (KEP-582). One quota alone is asked about, so the answer is an estimate.
PreemptionForecast forecast_preemption(SchedulerState& state, const WorkloadState& preemptor, QuotaId quota,
                                       int64_t amount, Now now, Spared& spared) {
  using Kind = PreemptionForecast::Kind;
  const NodeId queue = preemptor.queue->node;
  const std::vector<Victim> victims = find_victims(
      state, {.preemptor = preemptor, .contested = {quota}, .quota = {{quota, amount}}, .now = now}, spared);
  if (victims.empty()) return {Kind::kNoCandidates, state.ledger.reach(queue, quota, amount).level};

  const Capacity::Simulation simulation(state.capacity);
  bool own = false;
  for (const Victim& victim : victims) {
    state.capacity.give_back(victim.workload->queue->node, victim.workload->holding().claim);
    own |= victim.workload->queue == preemptor.queue;
  }
  return {own ? Kind::kPreempt : Kind::kReclaim, state.ledger.reach(queue, quota, amount).level};
}

}  // namespace muster::scheduler
