#include "reconcilers/queue_counts.h"

#include <algorithm>

namespace muster {
namespace {

int32_t reclaimed_pods(const Workload& workload, std::string_view pod_set) {
  for (const ReclaimablePod& pods : workload.status.reclaimable_pods) {
    if (pods.name == pod_set) return std::max(pods.count, 0);
  }
  return 0;
}

void add_amounts(FlavorAmounts& sum, const FlavorAmounts& amounts, int sign) {
  for (const auto& [flavor, requests] : amounts) {
    Requests& total = sum[flavor];
    for (const auto& [resource, amount] : requests) {
      const auto entry = total.try_emplace(resource, 0).first;
      entry->second = saturating_add(entry->second, sign * amount);
      if (entry->second == 0) total.erase(entry);
    }
    if (total.empty()) sum.erase(flavor);
  }
}

const QueueCounts& at_or_zeros(const std::map<std::string, QueueCounts, std::less<>>& counts, std::string_view key) {
  static const QueueCounts zeros;
  const auto found = counts.find(key);
  return found == counts.end() ? zeros : found->second;
}

}  // namespace

FlavorAmounts reserved_amounts(const Workload& workload) {
  FlavorAmounts amounts;
  if (!workload.status.admission) return amounts;
  for (const PodSetAssignment& assignment : workload.status.admission->pod_sets) {
    const PodSet* pod_set = workload.find(assignment.name);
    const int64_t count = std::max(assignment.count.value_or(pod_set == nullptr ? 1 : pod_set->count), 1);
    const int64_t left = std::max<int64_t>(count - reclaimed_pods(workload, assignment.name), 0);
    for (const auto& [resource, quantity] : assignment.resource_usage) {
      const auto flavor = assignment.flavors.find(resource);
      const int64_t whole = to_amount(resource, quantity);
      const int64_t amount = left == count ? whole : whole / count * left;
      if (flavor == assignment.flavors.end() || amount == 0) continue;
      int64_t& total = amounts[flavor->second][resource];
      total = saturating_add(total, amount);
    }
  }
  return amounts;
}

void QueueCountIndex::count(const Workload& workload, int sign) {
  if (workload.finished()) return;
  const auto& admission = workload.status.admission;
  const bool reserving = admission && workload.has_quota_reserved();
  if (!reserving && !workload.active) return;

  const auto update = [&](Counts& counts, const std::string& key, bool counts_pending) {
    QueueCounts& queue = counts[key];
    if (reserving) {
      const FlavorAmounts amounts = reserved_amounts(workload);
      queue.reserving += sign;
      add_amounts(queue.reserved, amounts, sign);
      if (workload.admitted()) {
        queue.admitted += sign;
        add_amounts(queue.used, amounts, sign);
      }
    } else if (counts_pending) {
      queue.pending += sign;
    }
    if (queue == QueueCounts()) counts.erase(key);
  };
  if (reserving) update(cluster_queues_, admission->cluster_queue, false);
  update(local_queues_, path_of(workload.meta.ns, workload.queue_name), true);
}

const QueueCounts& QueueCountIndex::of_cluster_queue(std::string_view name) const {
  return at_or_zeros(cluster_queues_, name);
}

const QueueCounts& QueueCountIndex::of_local_queue(std::string_view ns, std::string_view name) const {
  return at_or_zeros(local_queues_, path_of(ns, name));
}

}  // namespace muster
