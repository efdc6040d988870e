// Preemption between ClusterQueues by their shares: the queue with the largest share gives first.
#include <algorithm>
#include <map>
#include <set>

#include "scheduler/preemption/fair_sharing.h"
#include "scheduler/preemption/preemption_search.h"

namespace muster::scheduler {
namespace {

class FairSearch {
 public:
  FairSearch(SchedulerState& state, const PreemptionRequest& request, Spared& spared)
      : state_(state),
        ledger_(state.ledger),
        request_(request),
        asked_{.quota = request.quota},
        spared_(spared),
        queue_(*request.preemptor.queue) {}

  std::vector<Victim> run();

 private:
  using Candidates = std::vector<WorkloadState*>;

  Candidates find_candidates() const;
  void begin_round(const Candidates& candidates);
  const QueueState* next_target();
  const QueueState* next_target_below(NodeId cohort);
  bool has_candidates(const QueueState& queue) const;
  WorkloadState& pop(const QueueState& queue);
  bool take(WorkloadState& workload, PreemptionReason reason);
  bool within_nominal() const;
  bool passes(FairStrategy strategy, const DominantShare& mine, const DominantShare& before,
              const WorkloadState& candidate, NodeId its_branch);
  std::pair<NodeId, NodeId> branches(const QueueState& target) const;
  DominantShare share(NodeId node) const { return dominant_share(state_.names, ledger_, node); }
  bool first_round(Candidates& left);
  bool second_round();

  SchedulerState& state_;
  const Ledger& ledger_;
  const PreemptionRequest& request_;
  const Claim asked_;  // for shares, which know quota alone
  Spared& spared_;
  const QueueState& queue_;
  std::vector<Victim> victims_;
  // Of one round: candidates by ClusterQueue, and the nodes without further candidates.
  std::map<NodeId, Candidates> left_;
  std::set<NodeId> done_;
};

FairSearch::Candidates FairSearch::find_candidates() const {
  Candidates candidates;
  const auto collect = [&](const QueueState& queue, PreemptionPolicy policy) {
    std::copy_if(
        queue.reserved.begin(), queue.reserved.end(), std::back_inserter(candidates),
        [&](const WorkloadState* workload) { return may_evict(state_, request_, policy, *workload, spared_); });
  };
  const ClusterQueuePreemption& policy = queue_.object->preemption;
  if (policy.within_cluster_queue != PreemptionPolicy::kNever) collect(queue_, policy.within_cluster_queue);
  if (policy.reclaim_within_cohort != PreemptionPolicy::kNever && ledger_.parent(queue_.node) != kNoNode) {
    for (const NodeId node : ledger_.queues_of_tree(ledger_.root(queue_.node))) {
      const QueueState& other = *state_.queue_at(node);
      // A queue within its nominal quota has borrowed nothing that could be reclaimed.
      if (&other != &queue_ && other.active && !ledger_.within_quota(node, request_.contested))
        collect(other, policy.reclaim_within_cohort);
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [&](const WorkloadState* a, const WorkloadState* b) { return evicted_before(request_, *a, *b); });
  return candidates;
}

void FairSearch::begin_round(const Candidates& candidates) {
  left_.clear();
  done_.clear();
  for (WorkloadState* workload : candidates) left_[workload->queue->node].push_back(workload);
  // pop() takes from the end.
  for (auto& [node, list] : left_) std::reverse(list.begin(), list.end());
}

bool FairSearch::has_candidates(const QueueState& queue) const {
  const auto it = left_.find(queue.node);
  return it != left_.end() && !it->second.empty();
}

WorkloadState& FairSearch::pop(const QueueState& queue) {
  Candidates& list = left_.at(queue.node);
  WorkloadState& first = *list.back();
  list.pop_back();
  return first;
}

// KEP-1714: victims come from the node with the largest share at each level, which is found again after each victim,
// since its removal changes the shares.
const QueueState* FairSearch::next_target() {
  const NodeId root = ledger_.root(queue_.node);
  if (root == queue_.node) return has_candidates(queue_) && !done_.contains(root) ? &queue_ : nullptr;
  while (!done_.contains(root)) {
    if (const QueueState* target = next_target_below(root)) return target;
  }
  return nullptr;
}

// Follows the highest share down the tree. Null: only nodes without further candidates were found.
const QueueState* FairSearch::next_target_below(NodeId cohort) {
  const DominantShare less_than_any{.ratio = -1};
  // A node whose share is zero must win over no node.
  const QueueState* best_queue = nullptr;
  DominantShare queue_share = less_than_any;
  for (const NodeId child : ledger_.child_queues(cohort)) {
    const QueueState& other = *state_.queue_at(child);
    if (!other.active || done_.contains(child)) continue;
    const DominantShare share_of_child = share(child);
    // The preemptor's own queue is a target also when it borrows nothing: its policy withinClusterQueue says so.
    if ((!share_of_child.borrowing && &other != &queue_) || !has_candidates(other)) {
      done_.insert(child);
      continue;
    }
    // Of equal shares the one whose next victim goes first by priority and age.
    const int order = compare(share_of_child, queue_share);
    if (order > 0 ||
        (order == 0 && evicted_before(request_, *left_.at(child).back(), *left_.at(best_queue->node).back()))) {
      best_queue = &other;
      queue_share = share_of_child;
    }
  }
  NodeId best_cohort = kNoNode;
  DominantShare cohort_share = less_than_any;
  for (const NodeId child : ledger_.child_cohorts(cohort)) {
    if (done_.contains(child)) continue;
    const DominantShare share_of_child = share(child);
    // A Cohort above the preemptor is followed also if it borrows nothing: victims in the own queue lie there.
    bool leads_to_preemptor = false;
    for (NodeId at = queue_.node; at != kNoNode; at = ledger_.parent(at)) leads_to_preemptor |= at == child;
    if (!share_of_child.borrowing && !leads_to_preemptor) {
      done_.insert(child);
    } else if (compare(share_of_child, cohort_share) >= 0) {
      best_cohort = child;
      cohort_share = share_of_child;
    }
  }
  if (best_cohort == kNoNode && best_queue == nullptr) {
    done_.insert(cohort);
    return nullptr;
  }
  return best_cohort != kNoNode && compare(cohort_share, queue_share) >= 0 ? next_target_below(best_cohort)
                                                                           : best_queue;
}

// Whether the Workload fits now.
// run() has added the preemptor to its queue, for the shares; to see whether it fits it must not count twice.
bool FairSearch::take(WorkloadState& workload, PreemptionReason reason) {
  state_.capacity.give_back(workload.queue->node, workload.holding().claim);
  victims_.push_back({&workload, reason});
  const Capacity::Simulation simulation(state_.capacity);
  state_.capacity.give_back(queue_.node, asked_);
  return fits_now(state_, request_, true);
}

// Whether the preemptor stays within its own quota: then it takes back what was lent, and shares do not matter.
bool FairSearch::within_nominal() const {
  return ledger_.within_quota(queue_.node, request_.contested);
}

// The nodes right below the lowest Cohort that holds both.
std::pair<NodeId, NodeId> FairSearch::branches(const QueueState& target) const {
  for (NodeId theirs = target.node; ledger_.parent(theirs) != kNoNode; theirs = ledger_.parent(theirs)) {
    for (NodeId mine = queue_.node; ledger_.parent(mine) != kNoNode; mine = ledger_.parent(mine)) {
      if (ledger_.parent(mine) == ledger_.parent(theirs)) return {mine, theirs};
    }
  }
  return {queue_.node, target.node};
}

bool FairSearch::passes(FairStrategy strategy, const DominantShare& mine, const DominantShare& before,
                        const WorkloadState& candidate, NodeId its_branch) {
  if (strategy == FairStrategy::kLessThanInitialShare) return compare(mine, before) < 0;
  const Capacity::Simulation simulation(state_.capacity);
  state_.capacity.give_back(candidate.queue->node, candidate.holding().claim);
  return compare(mine, share(its_branch)) <= 0;
}

// Whether it fits; `left` gets the candidates that the strategy refused. Rules S2-a and S2-b of KEP-1714:
// LessThanOrEqualToFinalShare and LessThanInitialShare, whichever is configured first.
bool FairSearch::first_round(Candidates& left) {
  begin_round(std::exchange(left, {}));
  // Before the search, because victims in its own queue would lower the usage.
  const bool entitled = within_nominal();
  while (const QueueState* target = next_target()) {
    if (target == &queue_) {
      if (take(pop(*target), PreemptionReason::kInClusterQueue)) return true;
      continue;
    }
    if (entitled) {
      if (take(pop(*target), PreemptionReason::kInCohortReclamation)) return true;
      continue;
    }
    const auto [my_branch, its_branch] = branches(*target);
    const DominantShare mine = share(my_branch), before = share(its_branch);
    while (has_candidates(*target)) {
      WorkloadState& candidate = pop(*target);
      if (!passes(state_.settings.fair_sharing.front(), mine, before, candidate, its_branch)) {
        left.push_back(&candidate);
        continue;
      }
      if (take(candidate, PreemptionReason::kInCohortFairSharing)) return true;
      break;
    }
  }
  return false;
}

// Candidates that the first strategy refused, by LessThanInitialShare.
bool FairSearch::second_round() {
  while (const QueueState* target = next_target()) {
    const auto [my_branch, its_branch] = branches(*target);
    const bool passed = compare(share(my_branch), share(its_branch)) < 0;
    WorkloadState& candidate = pop(*target);
    if (passed && take(candidate, PreemptionReason::kInCohortFairSharing)) return true;
    // One candidate of each node, as in Kueue: the strategy compares shares before any eviction.
    done_.insert(target->node);
  }
  return false;
}

std::vector<Victim> FairSearch::run() {
  Candidates candidates = find_candidates();
  if (candidates.empty()) return {};
  const Capacity::Simulation simulation(state_.capacity);
  // Shares include the Workload.
  state_.capacity.take(queue_.node, asked_);
  bool fits = first_round(candidates);
  if (!fits && state_.settings.fair_sharing.size() > 1) {
    begin_round(candidates);
    fits = second_round();
  }
  if (!fits) return {};
  // Some victims are possibly unnecessary: the search took them one by one, without knowing the later ones.
  state_.capacity.give_back(queue_.node, asked_);
  put_back(state_, request_, true, victims_);
  return victims_;
}

}  // namespace

std::vector<Victim> fair_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared) {
  return FairSearch(state, request, spared).run();
}

}  // namespace muster::scheduler
