#include "scheduler/views/quota_holders.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

std::optional<QuotaId> quota_named(const SchedulerState& state, NodeId node, std::string_view flavor,
                                   std::string_view resource) {
  for (const QuotaId quota : state.ledger.quotas(node)) {
    const auto [its_flavor, its_resource] = state.names.quota(quota);
    if (state.names.flavor_name(its_flavor) == flavor && state.names.resource_name(its_resource) == resource)
      return quota;
  }
  return std::nullopt;
}

QuotaHolders holders_in(const QueueState& queue, QuotaId quota, size_t most) {
  QuotaHolders holders{.cluster_queue = queue.name, .named = {}};
  for (const WorkloadState* workload : queue.reserved) {
    for (const QuotaAmount& used : workload->holding().claim.quota) {
      if (used.quota == quota && used.amount > 0) holders.named.push_back({workload->object, used.amount});
    }
  }
  holders.count = holders.named.size();
  std::sort(holders.named.begin(), holders.named.end(), [](const auto& a, const auto& b) {
    return std::tie(b.amount, a.object->meta.ns, a.object->meta.name) <
           std::tie(a.amount, b.object->meta.ns, b.object->meta.name);
  });
  if (holders.named.size() > most) holders.named.resize(most);
  return holders;
}

}  // namespace

std::vector<QuotaHolders> quota_holders(const SchedulerState& state, const std::string& cluster_queue,
                                        std::string_view flavor, std::string_view resource, size_t most) {
  std::vector<QuotaHolders> all;
  const auto found = state.queues.find(cluster_queue);
  if (found == state.queues.end() || found->second->node == kNoNode) return all;
  const QueueState& asked = *found->second;
  const NodeId root = state.ledger.root(asked.node);
  const auto quota = quota_named(state, asked.node, flavor, resource);
  if (root == kNoNode || !quota) return all;
  for (const auto& [name, queue] : state.queues) {
    if (queue->node == kNoNode || state.ledger.root(queue->node) != root) continue;
    const bool other = queue.get() != &asked;
    const int64_t used = state.ledger.usage(queue->node, *quota);
    const int64_t amount = other ? used - state.ledger.nominal(queue->node, *quota) : used;
    if (amount <= 0) continue;
    QuotaHolders& holders = all.emplace_back(holders_in(*queue, *quota, most));
    holders.borrowed = other;
    holders.amount = amount;
  }
  std::sort(all.begin(), all.end(), [](const QuotaHolders& a, const QuotaHolders& b) {
    return std::tie(a.borrowed, b.amount, a.cluster_queue) < std::tie(b.borrowed, a.amount, b.cluster_queue);
  });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace muster::scheduler
