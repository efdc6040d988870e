#include "reconcilers/queue_counts.h"

#include "scheduler/reservation.h"

namespace muster {
namespace {

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
  for_each_use(workload, *workload.status.admission,
               [&](const std::string& flavor, const std::string& resource, int64_t amount) {
                 if (amount == 0) return;
                 int64_t& total = amounts[flavor][resource];
                 total = saturating_add(total, amount);
               });
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
