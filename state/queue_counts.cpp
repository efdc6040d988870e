#include "state/queue_counts.h"

#include "scheduler/reservation.h"

#include "api/texts/reason_label.h"
#include "api/workload_conditions.h"

namespace muster::state {
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

std::string reason_of(const Workload& workload, std::string_view type, std::string_view otherwise) {
  const Condition* condition = find_condition(workload.status.conditions, type);
  return condition == nullptr ? std::string(otherwise) : reason_label(condition->reason);
}

void count_unadmitted(UnadmittedCounts& counts, const Workload& workload, int sign) {
  const std::string cause =
      workload.has_quota_reserved() ? "" : reason_of(workload, kQuotaReservedCondition, kPendingEvaluationReason);
  const auto entry = counts.try_emplace({reason_of(workload, kAdmittedCondition, kNoReservationReason), cause}).first;
  entry->second += sign;
  if (entry->second == 0) counts.erase(entry);
}

const QueueCounts& at_or_zeros(const std::map<std::string, QueueCounts, std::less<>>& counts, std::string_view key) {
  static const QueueCounts zeros;
  const auto found = counts.find(key);
  return found == counts.end() ? zeros : found->second;
}

}  // namespace

int64_t amount_of(const FlavorAmounts& amounts, std::string_view flavor, std::string_view resource) {
  const auto requests = amounts.find(flavor);
  if (requests == amounts.end()) return 0;
  const auto amount = requests->second.find(resource);
  return amount == requests->second.end() ? 0 : amount->second;
}

FlavorAmounts reserved_amounts(const Workload& workload, bool reclaims) {
  FlavorAmounts amounts;
  if (!workload.status.admission) return amounts;
  scheduler::for_each_use(workload, *workload.status.admission, reclaims,
                          [&](const std::string& flavor, const std::string& resource, int64_t amount) {
                            if (amount == 0) return;
                            int64_t& total = amounts[flavor][resource];
                            total = saturating_add(total, amount);
                          });
  return amounts;
}

void QueueCountIndex::count(const Workload& workload, int sign) {
  const auto update = [](Counts& counts, const std::string& key, const auto& change) {
    QueueCounts& queue = counts[key];
    change(queue);
    if (queue == QueueCounts()) counts.erase(key);
  };
  const auto& admission = workload.status.admission;
  const bool finished = workload.finished(), admitted = workload.admitted();
  const bool reserving = !finished && admission && workload.has_quota_reserved();
  const auto count_reservation = [&](QueueCounts& queue) {
    const FlavorAmounts amounts = reserved_amounts(workload, reclaims_);
    queue.reserving += sign;
    add_amounts(queue.reserved, amounts, sign);
    if (!admitted) return;
    queue.admitted += sign;
    add_amounts(queue.used, amounts, sign);
  };
  if (reserving) update(cluster_queues_, admission->cluster_queue, count_reservation);
  update(local_queues_, path_of(workload.meta.ns, workload.queue_name), [&](QueueCounts& queue) {
    if (reserving)
      count_reservation(queue);
    else if (!finished && workload.active)
      queue.pending += sign;
    if (finished)
      queue.finished += sign;
    else if (!admitted)
      count_unadmitted(queue.unadmitted, workload, sign);
  });
}

const QueueCounts& QueueCountIndex::of_cluster_queue(std::string_view name) const {
  return at_or_zeros(cluster_queues_, name);
}

const QueueCounts& QueueCountIndex::of_local_queue(std::string_view ns, std::string_view name) const {
  return at_or_zeros(local_queues_, path_of(ns, name));
}

}  // namespace muster::state
