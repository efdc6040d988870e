#include "scheduler/flavor_assignment.h"

#include <algorithm>
#include <limits>

#include "api/requests.h"
#include "scheduler/capacity/capacity.h"
#include "scheduler/preemption/preemption.h"

namespace muster::scheduler {

// The worst resource decides: one that does not fit makes the others useless.
FitMode PodSetPlacement::mode() const {
  if (obstacles.empty()) return FitMode::kFit;
  if (choices.empty()) return FitMode::kNoFit;
  FitMode worst = FitMode::kFit;
  for (const FlavorChoice& choice : choices) worst = std::min(worst, choice.mode);
  return worst;
}

const FlavorChoice* PodSetPlacement::choice(ResourceId resource) const {
  const auto at = std::find_if(choices.begin(), choices.end(),
                               [&](const FlavorChoice& choice) { return choice.resource == resource; });
  return at == choices.end() ? nullptr : &*at;
}

// Preemption looks for victims that hold these, and no others.
std::vector<QuotaId> Placement::contested() const {
  std::vector<QuotaId> quotas;
  for (const PodSetPlacement& pod_set : pod_sets) {
    for (const FlavorChoice& choice : pod_set.choices) {
      if (choice.mode == FitMode::kPreempt && std::find(quotas.begin(), quotas.end(), choice.quota) == quotas.end())
        quotas.push_back(choice.quota);
    }
  }
  return quotas;
}

// The choices of a resource group stand together, and no two groups have the same flavor.
void add_asks(uint32_t pod_set, const PodSetPlacement& placed, std::vector<FurtherAsk>& asks) {
  for (const FlavorChoice& choice : placed.choices) {
    const bool known = !asks.empty() && asks.back().pod_set == pod_set && asks.back().flavor == choice.flavor;
    if (!known) asks.push_back({pod_set, placed.count, choice.flavor});
  }
}

std::vector<FurtherAsk> Placement::asks() const {
  std::vector<FurtherAsk> asks;
  for (size_t i = 0; i < pod_sets.size(); ++i) add_asks(static_cast<uint32_t>(i), pod_sets[i], asks);
  return asks;
}

void Placement::take(const Capacity::AssignedAll& assigned) {
  claim.further.clear();
  for (size_t i = 0; i < pod_sets.size(); ++i) {
    pod_sets[i].uses = i < assigned.uses.size() ? assigned.uses[i] : CapacityUses();
    add_uses(claim.further, pod_sets[i].uses);
  }
}

// Resources in the order of Kueue's visits, because the first resource of a group chooses its flavor.
std::vector<ResourceAmount> FlavorAssigner::requests_of(size_t pod_set, int32_t count) const {
  std::vector<ResourceAmount> requests = workload_.pod_sets[pod_set].per_pod;
  for (ResourceAmount& request : requests) request.amount = saturating_multiply(request.amount, count);
  if (!queue_.covers_pods) return requests;
  const auto at = std::find_if(requests.begin(), requests.end(), [&](const ResourceAmount& request) {
    return state_.names.visiting_order(request.resource) >= state_.names.visiting_order(state_.pods);
  });
  // No webhook lets a pod request a resource of this name. What does it anyway counts too.
  if (at != requests.end() && at->resource == state_.pods)
    at->amount = saturating_add(at->amount, count);
  else
    requests.insert(at, {state_.pods, count});
  return requests;
}

// The pod sets of a Workload start together, so that each is placed on what the earlier ones have left
// (placement.claim).
Placement FlavorAssigner::place(const std::vector<int32_t>& counts) const {
  Placement placement;
  placement.mode = workload_.pod_sets.empty() ? FitMode::kNoFit : FitMode::kFit;
  placement.progress.generation = queue_.generation;
  placement.progress.cycle = state_.cycle;
  placement.progress.shape = workload_.shape;
  for (size_t i = 0; i < workload_.pod_sets.size(); ++i) {
    PodSetPlacement pod_set{.count = counts.empty() ? workload_.pod_sets[i].count : counts[i]};
    pod_set.requests = requests_of(i, pod_set.count);
    const bool placed = place_pod_set(i, placement, pod_set);
    placement.mode = std::min(placement.mode, pod_set.mode());
    for (const FlavorChoice& choice : pod_set.choices) {
      placement.level = std::max(placement.level, choice.level);
      const auto request = std::find_if(pod_set.requests.begin(), pod_set.requests.end(),
                                        [&](const ResourceAmount& entry) { return entry.resource == choice.resource; });
      add_amount(placement.claim.quota, choice.quota, request->amount);
    }
    add_uses(placement.claim.further, pod_set.uses);
    placement.pod_sets.push_back(std::move(pod_set));
    if (!placed) break;
  }
  return placement;
}

// False when some resource has no flavor at all: then later pod sets are not evaluated.
bool FlavorAssigner::place_pod_set(size_t index, Placement& placement, PodSetPlacement& pod_set) const {
  PendingReason reason = PendingReason::kNone;
  std::vector<ScanProgress::Position>& positions = placement.progress.positions;
  const auto before = static_cast<std::ptrdiff_t>(positions.size());
  // A pod set without a flavor ends its scan, also for resources that got a flavor.
  const auto give_up = [&] {
    pod_set.choices.clear();
    pod_set.uses.clear();
    positions.erase(positions.begin() + before, positions.end());
  };
  for (const ResourceAmount& request : pod_set.requests) {
    const QueueGroup* group = queue_.group_of(request.resource);
    if (group == nullptr) {
      // A request of zero needs no quota, also not of a resource that the queue does not know.
      if (request.amount == 0 || state_.settings.ignore_undeclared_resources) continue;
      pod_set.obstacles = {{.kind = FlavorRejection::Kind::kNotCovered, .resource = request.resource}};
      give_up();
      placement.no_fit_reason = PendingReason::kNoMatchingFlavor;
      return false;
    }
    // Chosen together with an earlier resource of its group.
    if (pod_set.choice(request.resource) != nullptr) continue;
    Scan found = scan(*group, index, pod_set, request.resource, placement);
    reason = std::max(reason, found.reason);
    if (found.choices.empty()) {
      pod_set.obstacles = std::move(found.obstacles);
      give_up();
      placement.no_fit_reason = std::max(placement.no_fit_reason, reason);
      return false;
    }
    for (const FlavorChoice& choice : found.choices) {
      pod_set.choices.push_back(choice);
      positions.push_back({static_cast<uint32_t>(index), choice.resource, found.stopped_at});
    }
    add_uses(pod_set.uses, found.uses);
    pod_set.obstacles.insert(pod_set.obstacles.end(), found.obstacles.begin(), found.obstacles.end());
  }
  // Pods without counted requests have no flavor, and so no topology.
  if (!pod_set.choices.empty() || !needs_topology(state_, workload_.object->pod_sets[index])) return true;
  pod_set.obstacles = {{.kind = FlavorRejection::Kind::kNoFlavor}};
  placement.no_fit_reason = PendingReason::kNoMatchingFlavor;
  return false;
}

// The flavors of a group in their order. An attempt ends at the first fitting flavor, and the next attempt continues
// after it: so a Workload that was not admitted on that flavor reaches the others (flavorFungibility, KEP-582).
FlavorAssigner::Scan FlavorAssigner::scan(const QueueGroup& group, size_t index, const PodSetPlacement& pod_set,
                                          ResourceId first, const Placement& before) const {
  Scan scan;
  const PodSet& asked = workload_.object->pod_sets[index];
  const int count = static_cast<int>(group.flavors.size());
  Standing best{Rank::kNoFit, std::numeric_limits<int>::max()};
  int last = -1;
  const auto refuse = [&](PendingReason reason) {
    scan.reason = scan.reason == PendingReason::kNone ? reason : std::min(scan.reason, reason);
  };
  // With nominated flavors the scan only repeats them, wherever the last attempt stopped.
  const int start = nominated_ != nullptr ? 0 : workload_.progress.next_flavor(static_cast<uint32_t>(index), first);
  // A flavor that has failed for the Workload is ignored.
  int final = count - 1;
  while (final >= 0 && workload_.has_failed(group.flavors[final])) --final;
  for (int i = start; i < count; ++i) {
    const FlavorId flavor = group.flavors[i];
    if (workload_.has_failed(flavor)) {
      scan.obstacles.push_back({.kind = FlavorRejection::Kind::kFailed, .flavor = flavor, .resource = first});
      continue;
    }
    last = i;
    if (pinned_out(index, first, flavor)) {
      scan.obstacles.push_back({.kind = FlavorRejection::Kind::kPinned, .flavor = flavor, .resource = first});
      continue;
    }
    if (std::optional<FlavorRejection> obstacle = why_ineligible(state_, flavor, asked)) {
      scan.obstacles.push_back(std::move(*obstacle));
      refuse(PendingReason::kNoMatchingFlavor);
      continue;
    }
    Try tried = try_flavor(group, flavor, pod_set.requests, before.claim.quota, scan.obstacles);
    ask_further(flavor, index, pod_set, before, tried, scan.obstacles);
    if (tried.standing.rank == Rank::kNoFit) refuse(tried.reason);
    const bool stop = !go_on(tried.standing);
    if (stop || preferred(tried.standing, best)) {
      best = tried.standing;
      scan.choices = std::move(tried.choices);
      scan.uses = std::move(tried.uses);
    }
    if (stop) break;
  }
  // After the last flavor the next attempt begins at the first one again.
  scan.stopped_at = last == final ? ScanProgress::kFinished : last;
  if (final < 0) refuse(PendingReason::kNoMatchingFlavor);
  // Obstacles say why a Workload waits; one that fits does not.
  if (best.rank == Rank::kFit) scan.obstacles.clear();
  return scan;
}

// muster has no topologies: a flavor never has one, and without the gate the request is ignored, as in Kueue
// (KEP-2724).
bool needs_topology(const SchedulerState& state, const PodSet& pod_set) {
  return state.settings.topology_requests && pod_set.asks_for_topology;
}

std::optional<FlavorRejection> why_ineligible(const SchedulerState& state, FlavorId id, const PodSet& pod_set) {
  const ResourceFlavor* flavor = state.flavor(id);
  if (flavor == nullptr) return FlavorRejection{.kind = FlavorRejection::Kind::kFlavorMissing, .flavor = id};
  if (needs_topology(state, pod_set)) return FlavorRejection{.kind = FlavorRejection::Kind::kNoTopology, .flavor = id};
  if (flavor->fits_on_nodes && !state.settings.watches_nodes)
    return FlavorRejection{.kind = FlavorRejection::Kind::kNoNodes, .flavor = id};
  const PodSpec& spec = *pod_set.pod_template.spec;
  // spec.tolerations of the flavor are added to the pods when they start, so they count as the pods' own.
  for (const Taint& taint : flavor->node_taints) {
    if (!taint.counts_for_scheduling() || any_tolerates(spec.tolerations, taint, ComparisonOperators::kHonoured) ||
        any_tolerates(flavor->tolerations, taint, ComparisonOperators::kHonoured))
      continue;
    std::string text = taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
    return FlavorRejection{.kind = FlavorRejection::Kind::kTaint, .flavor = id, .detail = std::move(text)};
  }
  // Only labels that the flavor names: nodes have more, which the scheduler of Kubernetes looks at.
  if (!spec.node_affinity.matches_known(flavor->node_labels))
    return FlavorRejection{.kind = FlavorRejection::Kind::kAffinity, .flavor = id};
  return std::nullopt;
}

bool FlavorAssigner::pinned_out(size_t pod_set, ResourceId resource, FlavorId flavor) const {
  if (nominated_ == nullptr || pod_set >= nominated_->pod_sets.size()) return false;
  const FlavorChoice* choice = nominated_->pod_sets[pod_set].choice(resource);
  return choice == nullptr || choice->flavor != flavor;
}

// All resources of a group get the same flavor, since they are on the same node.
FlavorAssigner::Try FlavorAssigner::try_flavor(const QueueGroup& group, FlavorId flavor,
                                               const std::vector<ResourceAmount>& requests, const Amounts& before,
                                               std::vector<FlavorRejection>& obstacles) const {
  Try tried{.standing = {Rank::kFit, 0}, .choices = {}};
  for (const ResourceAmount& request : requests) {
    if (!group.covers(request.resource)) continue;
    const QuotaId quota = state_.names.quota(flavor, request.resource);
    const auto used =
        std::find_if(before.begin(), before.end(), [&](const QuotaAmount& entry) { return entry.quota == quota; });
    const bool ask_preemption = tried.standing.rank != Rank::kNoFit;
    PendingReason reason = PendingReason::kNone;
    const Standing standing =
        stand(quota, used == before.end() ? 0 : used->amount, request.amount, ask_preemption, obstacles, reason);
    tried.reason = std::max(tried.reason, reason);
    if (preferred(tried.standing, standing)) tried.standing = standing;
    const FitMode mode = standing.rank == Rank::kFit     ? FitMode::kFit
                         : standing.rank == Rank::kNoFit ? FitMode::kNoFit
                                                         : FitMode::kPreempt;
    tried.choices.push_back({request.resource, flavor, quota, mode, standing.level});
  }
  return tried;
}

// After quota: without quota on the flavor it does not matter what else there is.
void FlavorAssigner::ask_further(FlavorId flavor, size_t index, const PodSetPlacement& pod_set, const Placement& before,
                                 Try& tried, std::vector<FlavorRejection>& obstacles) const {
  if (tried.standing.rank == Rank::kNoFit || !state_.capacity.has_further()) return;
  Capacity::Assigned assigned = state_.capacity.assign({.workload = *workload_.object,
                                                        .pod_set = workload_.object->pod_sets[index],
                                                        .count = pod_set.count,
                                                        .flavor = state_.names.flavor_name(flavor),
                                                        .earlier = before.claim.further,
                                                        .of_pod_set = pod_set.uses});
  tried.uses = std::move(assigned.uses);
  if (assigned.shortages.empty()) return;
  bool permanent = false;
  for (Shortage& shortage : assigned.shortages) {
    permanent |= shortage.permanent;
    obstacles.push_back({.kind = FlavorRejection::Kind::kShortage,
                         .flavor = flavor,
                         .shortage = std::make_shared<const Shortage>(std::move(shortage))});
  }
  // Also where quota is free: preemption looks for the holders of contested quota, and of what is short.
  for (FlavorChoice& choice : tried.choices) choice.mode = permanent ? FitMode::kNoFit : FitMode::kPreempt;
  if (permanent) tried.reason = PendingReason::kExceedsMaxQuota;
  tried.standing.rank =
      permanent ? Rank::kNoFit
                : std::min(tried.standing.rank, rank_after_preemption(flavor, index, pod_set, before, tried));
}

// With victims for all that the pod set needs on this flavor: for quota alone there can be some that free nothing else.
FlavorAssigner::Rank FlavorAssigner::rank_after_preemption(FlavorId flavor, size_t index,
                                                           const PodSetPlacement& pod_set, const Placement& before,
                                                           const Try& tried) const {
  if (tried.standing.rank == Rank::kNoCandidates) return Rank::kNoCandidates;
  std::vector<FurtherAsk> asks = before.asks();
  add_asks(static_cast<uint32_t>(index), pod_set, asks);
  asks.push_back({static_cast<uint32_t>(index), pod_set.count, flavor});
  PreemptionRequest request{
      .preemptor = workload_, .contested = {}, .quota = before.claim.quota, .asks = std::move(asks), .now = now_};
  for (const FlavorChoice& choice : tried.choices) {
    request.contested.push_back(choice.quota);
    const auto asked = std::find_if(pod_set.requests.begin(), pod_set.requests.end(),
                                    [&](const ResourceAmount& entry) { return entry.resource == choice.resource; });
    add_amount(request.quota, choice.quota, asked->amount);
  }
  const std::vector<Victim> victims = find_victims(state_, request, spared_);
  if (victims.empty()) return Rank::kNoCandidates;
  const bool own = std::any_of(victims.begin(), victims.end(),
                               [&](const Victim& victim) { return victim.workload->queue == &queue_; });
  return own ? Rank::kPreempt : Rank::kReclaim;
}

FlavorAssigner::Standing FlavorAssigner::stand(QuotaId quota, int64_t before, int64_t request, bool ask_preemption,
                                               std::vector<FlavorRejection>& obstacles, PendingReason& reason) const {
  const Ledger& ledger = state_.ledger;
  const auto [flavor, resource] = state_.names.quota(quota);
  FlavorRejection obstacle{
      .flavor = flavor, .resource = resource, .quota = quota, .requested = request, .earlier = before};
  const int64_t amount = saturating_add(before, request);
  const int64_t most = ledger.potential(queue_.node, quota);
  // More than the queue gets when no other queue uses anything: neither waiting nor evictions help.
  if (amount > most) {
    obstacle.kind = FlavorRejection::Kind::kExceedsMax;
    obstacle.limit = most;
    obstacles.push_back(std::move(obstacle));
    reason = PendingReason::kExceedsMaxQuota;
    return {Rank::kNoFit, 0};
  }
  // How far up the tree quota must be borrowed: 0 is the own queue.
  const auto [level, below_root] = ledger.reach(queue_.node, quota, amount);
  const int64_t available = ledger.available(queue_.node, quota);
  if (amount <= available) return {Rank::kFit, level};

  obstacle.kind = FlavorRejection::Kind::kNoneUnused;
  obstacle.limit = available;
  obstacles.push_back(std::move(obstacle));
  // A Workload that must borrow can evict others only if a policy allows it (KEP-1337); with fair sharing shares decide
  // that later (KEP-1714).
  const ClusterQueuePreemption& policy = queue_.object->preemption;
  const bool may_borrow = policy.borrow_within_cohort != PreemptionPolicy::kNever ||
                          (state_.fair() && policy.reclaim_within_cohort != PreemptionPolicy::kNever);
  if (amount > ledger.nominal(queue_.node, quota) && !below_root && !may_borrow) {
    reason = PendingReason::kWaitingForQuota;
    return {Rank::kNoFit, level};
  }
  // If another resource has excluded the flavor, a search for victims has no use.
  if (!ask_preemption) return {Rank::kNoCandidates, level};
  using Kind = PreemptionForecast::Kind;
  const PreemptionForecast forecast = forecast_preemption(state_, workload_, quota, amount, now_, spared_);
  const Rank rank = forecast.kind == Kind::kNoCandidates ? Rank::kNoCandidates
                    : forecast.kind == Kind::kPreempt    ? Rank::kPreempt
                                                         : Rank::kReclaim;
  return {rank, forecast.level};
}

// Of two fitting flavors: the one without evictions, or with the preference PreemptionOverBorrowing the one that
// borrows from nearer (KEP-582).
bool FlavorAssigner::preferred(const Standing& a, const Standing& b) const {
  if (a.rank == Rank::kNoFit) return false;
  if (b.rank == Rank::kNoFit) return true;
  // A flavor that does not fit now comes last, for every preference.
  if ((a.rank == Rank::kNoCandidates) != (b.rank == Rank::kNoCandidates)) return b.rank == Rank::kNoCandidates;
  if (queue_.object->fungibility.preference == FungibilityPreference::kPreemptionOverBorrowing)
    return a.level != b.level ? a.level < b.level : a.rank > b.rank;
  return a.rank != b.rank ? a.rank > b.rank : a.level < b.level;
}

// whenCanPreempt and whenCanBorrow: TryNextFlavor (KEP-582).
bool FlavorAssigner::go_on(const Standing& standing) const {
  const FlavorFungibility& fungibility = queue_.object->fungibility;
  if (standing.rank == Rank::kNoFit || standing.rank == Rank::kNoCandidates) return true;
  if (standing.rank != Rank::kFit && fungibility.try_next_when_can_preempt) return true;
  return standing.level > 0 && fungibility.try_next_when_can_borrow;
}

}  // namespace muster::scheduler
