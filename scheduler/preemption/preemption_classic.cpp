// Preemption by priority and by the distance to the quota in the tree.
#include <algorithm>
#include <array>
#include <iterator>

#include "api/requests.h"
#include "scheduler/preemption/preemption_search.h"

namespace muster::scheduler {
namespace {

struct Candidate {
  WorkloadState* workload;
  PreemptionReason reason;
  bool only_without_borrowing;
  NodeId common_ancestor;  // of its ClusterQueue and the preemptor's; kNoNode in the same one
};

class ClassicSearch {
 public:
  ClassicSearch(SchedulerState& state, const PreemptionRequest& request, Spared& spared)
      : state_(state),
        ledger_(state.ledger),
        request_(request),
        spared_(spared),
        queue_(*request.preemptor.queue),
        policy_(queue_.object->preemption) {}

  std::vector<Victim> run();

 private:
  bool may_borrow_while_preempting() const { return policy_.borrow_within_cohort != PreemptionPolicy::kNever; }
  void collect_own();
  void collect_from_cohort();
  void collect_below(NodeId cohort, NodeId subtree, NodeId done, bool advantage);
  void collect_queue(const QueueState& other, NodeId subtree, bool advantage);
  bool below_threshold(const WorkloadState& candidate) const;
  bool fits_in_quota(NodeId node, Amounts& remaining) const;
  void arrange();
  bool under_nominal() const;
  bool still_valid(const Candidate& candidate, bool borrow) const;
  std::vector<Victim> attempt(bool borrow);

  SchedulerState& state_;
  const Ledger& ledger_;
  const PreemptionRequest& request_;
  Spared& spared_;
  const QueueState& queue_;
  const ClusterQueuePreemption& policy_;
  // With an advantage by place in the tree; by priority only; of the same ClusterQueue.
  std::vector<Candidate> closer_, by_priority_, own_;
  std::vector<Candidate> candidates_;  // all, in the order in which they are tried
};

void ClassicSearch::collect_own() {
  if (policy_.within_cluster_queue == PreemptionPolicy::kNever) return;
  for (WorkloadState* workload : queue_.reserved) {
    if (may_evict(state_, request_, policy_.within_cluster_queue, *workload, spared_))
      own_.push_back({workload, PreemptionReason::kInClusterQueue, false, kNoNode});
  }
}

// borrowWithinCohort.maxPriorityThreshold (KEP-1337).
bool ClassicSearch::below_threshold(const WorkloadState& candidate) const {
  return candidate.priority() < request_.preemptor.priority() &&
         (!policy_.max_priority_threshold || candidate.priority() <= *policy_.max_priority_threshold);
}

void ClassicSearch::collect_queue(const QueueState& other, NodeId subtree, bool advantage) {
  for (WorkloadState* workload : other.reserved) {
    if (!may_evict(state_, request_, policy_.reclaim_within_cohort, *workload, spared_)) continue;
    Candidate candidate{workload, PreemptionReason::kInCohortReclamation, false, subtree};
    // The preemptor would borrow beyond this subtree itself. It can then evict only Workloads below the threshold;
    // others are victims only if the search needs no borrowing.
    if (!advantage) {
      candidate.only_without_borrowing = !may_borrow_while_preempting() || !below_threshold(*workload);
      if (!candidate.only_without_borrowing) candidate.reason = PreemptionReason::kInCohortReclaimWhileBorrowing;
    }
    (advantage ? closer_ : by_priority_).push_back(candidate);
  }
}

void ClassicSearch::collect_below(NodeId cohort, NodeId subtree, NodeId done, bool advantage) {
  for (const NodeId child : ledger_.child_cohorts(cohort)) {
    // A subtree within its quota has taken nothing from the Cohort, so nothing can be reclaimed from it.
    if (child != done && !ledger_.within_quota(child, request_.contested))
      collect_below(child, subtree, done, advantage);
  }
  for (const NodeId child : ledger_.child_queues(cohort)) {
    const QueueState& other = *state_.queue_at(child);
    if (&other != &queue_ && other.active && !ledger_.within_quota(child, request_.contested))
      collect_queue(other, subtree, advantage);
  }
}

// Whether the request fits the quota of this subtree; leaves the amount beyond the quota that the node
// keeps.
bool ClassicSearch::fits_in_quota(NodeId node, Amounts& remaining) const {
  bool fits = true;
  for (QuotaAmount& entry : remaining) {
    if (ledger_.borrowing_with(node, entry.quota, entry.amount)) fits = false;
    entry.amount = std::max<int64_t>(0, saturating_subtract(entry.amount, ledger_.local_available(node, entry.quota)));
  }
  return fits;
}

// Cohort by Cohort upwards (KEP-79). From the first node with quota for the request upwards, the other queues of its
// Cohort use lent quota, which is reclaimed. Below that node the preemptor would borrow itself, which
// borrowWithinCohort limits (KEP-1337).
void ClassicSearch::collect_from_cohort() {
  if (policy_.reclaim_within_cohort == PreemptionPolicy::kNever) return;
  Amounts remaining = request_.quota;
  bool advantage = fits_in_quota(queue_.node, remaining);
  NodeId done = kNoNode;
  for (NodeId cohort = ledger_.parent(queue_.node); cohort != kNoNode; cohort = ledger_.parent(cohort)) {
    collect_below(cohort, cohort, done, advantage);
    advantage |= fits_in_quota(cohort, remaining);
    done = cohort;
  }
}

// Workloads that are already evicted cost nothing, so they come first in each list and before all lists.
void ClassicSearch::arrange() {
  // Kueue's order of the lists: lent quota comes back first, then lower priorities, and the preemptor's own queue last.
  const std::array<std::vector<Candidate>*, 3> lists{&closer_, &by_priority_, &own_};
  for (std::vector<Candidate>* list : lists) {
    std::sort(list->begin(), list->end(), [&](const Candidate& a, const Candidate& b) {
      return evicted_before(request_, *a.workload, *b.workload);
    });
  }
  for (const bool evicting : {true, false}) {
    for (const std::vector<Candidate>* list : lists) {
      std::copy_if(list->begin(), list->end(), std::back_inserter(candidates_),
                   [&](const Candidate& candidate) { return candidate.workload->holding().evicting == evicting; });
    }
  }
}

// A queue that is over its nominal quota has no claim to quota of others (KEP-83).
bool ClassicSearch::under_nominal() const {
  return std::all_of(request_.contested.begin(), request_.contested.end(), [&](QuotaId quota) {
    return ledger_.usage(queue_.node, quota) < ledger_.nominal(queue_.node, quota);
  });
}

// Earlier evictions can have reduced the candidate's subtree to its quota.
bool ClassicSearch::still_valid(const Candidate& candidate, bool borrow) const {
  if (candidate.common_ancestor == kNoNode) return true;
  // KEP-1337: a Workload above the threshold is not evicted so that another queue can borrow.
  if (borrow && candidate.only_without_borrowing) return false;
  for (NodeId node = candidate.workload->queue->node; node != candidate.common_ancestor; node = ledger_.parent(node)) {
    if (ledger_.within_quota(node, request_.contested)) return false;
  }
  return true;
}

std::vector<Victim> ClassicSearch::attempt(bool borrow) {
  const Capacity::Simulation simulation(state_.capacity);
  std::vector<Victim> victims;
  for (const Candidate& candidate : candidates_) {
    if (!still_valid(candidate, borrow)) continue;
    state_.capacity.give_back(candidate.workload->queue->node, candidate.workload->holding().claim);
    victims.push_back({candidate.workload, candidate.reason});
    if (!fits_now(state_, request_, borrow)) continue;
    put_back(state_, request_, borrow, victims);
    return victims;
  }
  return {};
}

std::vector<Victim> ClassicSearch::run() {
  collect_own();
  collect_from_cohort();
  arrange();
  if (candidates_.empty()) return {};
  // Victims in the preemptor's own queue take no quota from other queues, so borrowing is no question.
  const bool only_own = closer_.empty() && by_priority_.empty();
  if (only_own || (!may_borrow_while_preempting() && !under_nominal())) return attempt(true);
  // Without borrowing more candidates exist; the order is Kueue's.
  const bool borrow_first = may_borrow_while_preempting() || !closer_.empty();
  std::vector<Victim> victims = attempt(borrow_first);
  return victims.empty() ? attempt(!borrow_first) : victims;
}

}  // namespace

std::vector<Victim> classic_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared) {
  return ClassicSearch(state, request, spared).run();
}

}  // namespace muster::scheduler
