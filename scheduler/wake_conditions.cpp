#include "scheduler/wake_conditions.h"

#include <algorithm>
#include <ext/pb_ds/assoc_container.hpp>
#include <tuple>

#include "scheduler/capacity/further_capacity.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

// The shape makes equal amounts different keys.
struct Needed {
  int64_t amount;
  Shape shape;

  bool operator<(const Needed& other) const {
    return std::tie(amount, shape.high, shape.low) < std::tie(other.amount, other.shape.high, other.shape.low);
  }
};

WorkloadState* first_of(WorkloadState* a, WorkloadState* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return queued_before(*b, *a) ? b : a;
}

// A policy of the red-black tree below: each node knows the first Workload of its subtree.
template <class ConstNode, class Node, class Compare, class Allocator>
class KnowsFirst {
 public:
  using metadata_type = WorkloadState*;

  void operator()(Node node, ConstNode end) const {
    const_cast<metadata_type&>(node.get_metadata()) =
        first_of((*node)->second, first_of(first_in(node.get_l_child(), end), first_in(node.get_r_child(), end)));
  }

  // The first Workload of all that need at most this amount, on one path down the tree.
  WorkloadState* first_needing(int64_t at_most) const {
    WorkloadState* first = nullptr;
    const ConstNode end = node_end();
    for (ConstNode node = node_begin(); node != end;) {
      if ((*node)->first.amount > at_most) {
        node = node.get_l_child();
        continue;
      }
      first = first_of(first, first_of((*node)->second, first_in(node.get_l_child(), end)));
      node = node.get_r_child();
    }
    return first;
  }

 protected:
  ~KnowsFirst() = default;

 private:
  static WorkloadState* first_in(ConstNode node, ConstNode end) { return node == end ? nullptr : node.get_metadata(); }
  virtual ConstNode node_begin() const = 0;
  virtual ConstNode node_end() const = 0;
};

}  // namespace

struct WakeIndex::Row {
  __gnu_pbds::tree<Needed, WorkloadState*, std::less<>, __gnu_pbds::rb_tree_tag, KnowsFirst> tree;
};

WakeIndex::WakeIndex() = default;
WakeIndex::~WakeIndex() = default;

void WakeIndex::add(const WakeCondition& wake_condition, const Shape& shape, WorkloadState& first) {
  std::unique_ptr<Row>& row = rows_[wake_condition.key];
  if (!row) row = std::make_unique<Row>();
  row->tree.insert({{wake_condition.needed, shape}, &first});
}

void WakeIndex::remove(const WakeCondition& wake_condition, const Shape& shape) {
  const auto row = rows_.find(wake_condition.key);
  if (row == rows_.end()) return;
  row->second->tree.erase({wake_condition.needed, shape});
  if (row->second->tree.empty()) rows_.erase(row);
}

WorkloadState* WakeIndex::first_within(const Reach& reach) const {
  WorkloadState* first = nullptr;
  for (const auto& [key, row] : rows_) first = first_of(first, row->tree.first_needing(reach(key)));
  return first;
}

namespace {

// A Workload of higher priority is no victim by any policy of its ClusterQueue.
bool has_no_victim_in_queue(const QueueState& queue, const WorkloadState& workload) {
  return queue.object->preemption.within_cluster_queue == PreemptionPolicy::kNever ||
         std::all_of(queue.reserved.begin(), queue.reserved.end(),
                     [&](const WorkloadState* other) { return other->priority() > workload.priority(); });
}

// Whether it will find no victims for this amount, for any state of its Cohort: a borrower cannot reclaim from other
// queues, and its own ClusterQueue has no victim.
bool finds_no_victims(const SchedulerState& state, const WorkloadState& workload, const FlavorRejection& obstacle) {
  const QueueState& queue = *workload.queue;
  const ClusterQueuePreemption& policy = queue.object->preemption;
  if (!queue.preempts()) return true;
  // With fair sharing the shares decide, and with borrowWithinCohort the priorities of other queues: both change
  // without a release of this quota.
  if (state.fair() || policy.borrow_within_cohort != PreemptionPolicy::kNever) return false;
  const NodeId parent = state.ledger.parent(queue.node);
  // Deeper in a tree a node can have quota for the request although the ClusterQueue borrows (KEP-79): then it
  // reclaims.
  const bool flat = parent == kNoNode || parent == state.ledger.root(queue.node);
  if (!flat || !state.ledger.borrowing_with(queue.node, obstacle.quota, obstacle.requested)) return false;
  return has_no_victim_in_queue(queue, workload);
}

// The same for a further capacity: the policies allow no eviction of any of its holders.
bool finds_no_holders(const SchedulerState& state, const WorkloadState& workload) {
  const QueueState& queue = *workload.queue;
  const bool reclaims = queue.object->preemption.reclaim_within_cohort != PreemptionPolicy::kNever;
  return (!reclaims || state.ledger.parent(queue.node) == kNoNode) && has_no_victim_in_queue(queue, workload);
}

// Whether the Workload has to wait for a release because of this obstacle, or whatever is released.
bool still_blocks(const SchedulerState& state, const WorkloadState& workload, const FlavorRejection& obstacle) {
  const NodeId queue = workload.queue->node;
  switch (obstacle.kind) {
    case FlavorRejection::Kind::kNoneUnused:
      return state.ledger.available(queue, obstacle.quota) < obstacle.requested &&
             finds_no_victims(state, workload, obstacle);
    case FlavorRejection::Kind::kShortage:
      return obstacle.shortage->permanent ||
             (state.capacity.available(queue, obstacle.shortage->key) < obstacle.shortage->needed &&
              finds_no_holders(state, workload));
    default:
      // Missing flavors, taints and maximums do not end by a release. kPinned says nothing about quota.
      return obstacle.kind != FlavorRejection::Kind::kPinned;
  }
}

}  // namespace

std::optional<std::vector<WakeCondition>> wake_conditions_of(const SchedulerState& state, const WorkloadState& workload,
                                                             const std::vector<FlavorRejection>& why) {
  using Kind = FlavorRejection::Kind;
  // No release adds a resource to the ClusterQueue; a change of its spec wakes everything.
  if (std::any_of(why.begin(), why.end(), [](const FlavorRejection& each) { return each.kind == Kind::kNotCovered; }))
    return std::vector<WakeCondition>{};
  const QueueState& queue = *workload.queue;
  // One resource group without a fitting flavor is enough to wait.
  for (const QueueGroup& group : queue.groups) {
    std::vector<WakeCondition> wake_conditions;
    const bool blocked = std::all_of(group.flavors.begin(), group.flavors.end(), [&](FlavorId flavor) {
      const auto obstacle = std::find_if(why.begin(), why.end(), [&](const FlavorRejection& each) {
        return each.flavor == flavor && still_blocks(state, workload, each);
      });
      if (obstacle == why.end()) return false;
      if (obstacle->kind == Kind::kNoneUnused) wake_conditions.push_back({obstacle->quota, obstacle->requested});
      if (obstacle->kind == Kind::kShortage && !obstacle->shortage->permanent)
        wake_conditions.push_back({obstacle->shortage->key, obstacle->shortage->needed});
      return true;
    });
    if (blocked) return wake_conditions;
  }
  return std::nullopt;
}

}  // namespace muster::scheduler
