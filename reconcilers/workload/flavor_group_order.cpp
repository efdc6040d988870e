#include "reconcilers/workload/flavor_group_order.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::reconcilers {
namespace {

// A flavor without a timeout is never left by time: its group comes last.
Duration longest_timeout(const ResourceGroup& group, const FallbackStrategy& strategy) {
  Duration longest = Duration::zero();
  for (const FlavorQuotas& flavor : group.flavors)
    longest = std::max(longest, strategy.timeout_of(flavor.name).value_or(Duration::max()));
  return longest;
}

}  // namespace

FlavorGroupOrder::FlavorGroupOrder(const ClusterQueue& queue) {
  std::vector<std::pair<Duration, const ResourceGroup*>> groups;
  for (const ResourceGroup& group : queue.resource_groups)
    groups.emplace_back(longest_timeout(group, *queue.fallback), &group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  for (const auto& [timeout, group] : groups) {
    for (const FlavorQuotas& flavor : group->flavors) ranks_.emplace(flavor.name, groups_);
    ++groups_;
  }
}

int FlavorGroupOrder::rank(std::string_view flavor) const {
  const auto found = ranks_.find(flavor);
  return found == ranks_.end() ? groups_ : found->second;
}

}  // namespace muster::reconcilers
