#include "scheduler/views/listing.h"

#include <algorithm>
#include <unordered_map>

#include "scheduler/eligibility.h"
#include "scheduler/order/workload_order.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

ListedQuota quota_of(const SchedulerState& state, NodeId node, QuotaId quota) {
  const auto [flavor, resource] = state.names.quota(quota);
  ListedQuota listed;
  listed.flavor = state.names.flavor_name(flavor);
  listed.resource = state.names.resource_name(resource);
  listed.nominal = state.ledger.nominal(node, quota);
  listed.used = state.ledger.usage(node, quota);
  return listed;
}

ListedQuota quota_of_queue(const SchedulerState& state, NodeId node, QuotaId quota) {
  ListedQuota listed = quota_of(state, node, quota);
  if (const int64_t limit = state.ledger.borrowing_limit(node, quota); limit != kUnlimited)
    listed.borrowing_limit = limit;
  listed.borrowed = std::max<int64_t>(0, listed.used - listed.nominal);
  listed.free = state.ledger.available(node, quota);
  listed.most = state.ledger.potential(node, quota);
  return listed;
}

// A Cohort itself has no limit that would count here: what its children can use is what its subtree has.
ListedQuota quota_of_cohort(const SchedulerState& state, NodeId node, QuotaId quota) {
  ListedQuota listed = quota_of(state, node, quota);
  listed.most = state.ledger.subtree_quota(node, quota);
  listed.free = std::max<int64_t>(0, listed.most - listed.used);
  return listed;
}

}  // namespace

// For entries that live longer than the queue.
bool comes_before(const PendingEntry& a, const PendingEntry& b) {
  const auto terms = [](const PendingEntry& entry) {
    return QueueTerms{entry.preferred, entry.priority, entry.queued_since, &entry.object->meta};
  };
  return compare(terms(a), terms(b)).first;
}

// By name, since the maps of the state are sorted. Workloads are copied as pointers and sorted by their reader, on
// another thread.
Listing listing_of(const SchedulerState& state) {
  Listing listing;
  std::unordered_map<NodeId, size_t> places;
  for (const auto& [name, queue] : state.queues) {
    if (queue->object == nullptr) continue;
    places.emplace(queue->node, listing.cluster_queues.size());
    ListedClusterQueue& listed = listing.cluster_queues.emplace_back();
    listed.object = queue->object;
    if (const auto inactive = why_inactive(state, name)) {
      listed.inactive_reason = inactive->reason;
      listed.inactive_message = inactive->message;
    }
    listed.cohort = queue->object->cohort;
    listed.pending.reserve(queue->pending.active() + queue->pending.parked());
    listed.holders.reserve(queue->reserved.size());
    // A tree with a cycle has no root, and no numbers.
    if (state.ledger.root(queue->node) == kNoNode) continue;
    for (const QuotaId quota : state.ledger.quotas(queue->node))
      listed.quotas.push_back(quota_of_queue(state, queue->node, quota));
  }
  for (const auto& [key, workload] : state.workloads) {
    const auto place = places.find(workload->queue == nullptr ? kNoNode : workload->queue->node);
    const bool queued = workload->in_queue(), reserved = workload->holds_quota();
    // Without a ClusterQueue, stopped, on hold or inactive: no queue shows these, and a search by name must find them.
    if (place == places.end() || (!queued && !reserved)) {
      listing.elsewhere.push_back(workload->object);
    } else if (reserved) {
      listing.cluster_queues[place->second].holders.push_back({workload->object, workload->holding().assumed});
    } else {
      const bool preferred = workload->queue->pending.preferred() == workload.get();
      listing.cluster_queues[place->second].pending.push_back(
          {workload->object, workload->rank, workload->queued_since, preferred});
    }
  }
  for (const auto& [name, node] : state.ledger.cohorts()) {
    const NodeId parent = state.ledger.parent(node);
    ListedCohort& listed = listing.cohorts.emplace_back();
    listed.name = name;
    listed.parent = parent == kNoNode ? "" : state.ledger.name(parent);
    if (state.ledger.root(node) == kNoNode) continue;
    for (const QuotaId quota : state.ledger.quotas(node)) listed.quotas.push_back(quota_of_cohort(state, node, quota));
  }
  return listing;
}

}  // namespace muster::scheduler
