#include "scheduler/workload_reading.h"

#include <algorithm>
#include <utility>

#include "scheduler/reservation.h"

namespace muster::scheduler {

// Both, since other clients can write one without the other.
bool has_admission(const Workload& workload) {
  return workload.has_quota_reserved() && workload.status.admission;
}

namespace {

OrderTime order_time_of(const Workload& workload, const SchedulerSettings& settings) {
  using Timestamps = RequeuingStrategy::Timestamp;
  return order_time(workload, settings.order_by_eviction ? Timestamps::kEviction : Timestamps::kCreation);
}

}  // namespace

Timestamp queued_since(const Workload& workload, const SchedulerSettings& settings) {
  return order_time_of(workload, settings).at;
}

OrderTimeOf queued_since_of(const Workload& workload, const SchedulerSettings& settings) {
  return order_time_of(workload, settings).of;
}

// Requeued=False has no end by time: the Workload's reconciler sets it to True (KEP-1282).
std::optional<Timestamp> requeued_at(const Workload& workload, Timestamp now) {
  const Condition* requeued = find_condition(workload.status.conditions, kRequeuedCondition);
  if (requeued != nullptr && requeued->status == "False") return Timestamp{};
  if (!workload.status.requeue_state || workload.status.requeue_state->requeue_at.is_zero()) return std::nullopt;
  const Timestamp at = workload.status.requeue_state->requeue_at;
  return at <= now ? std::nullopt : std::optional(at);
}

// Whether the condition says something of the scheduler's: if not, a Workload that is parked with its shape needs a
// first report, although it is not evaluated itself.
bool lacks_result(const Workload& workload) {
  const Condition* reserved = find_condition(workload.status.conditions, kQuotaReservedCondition);
  if (reserved == nullptr || reserved->is_true()) return false;
  for (const PendingReason found :
       {PendingReason::kWaitingForQuota, PendingReason::kExceedsMaxQuota, PendingReason::kNoMatchingFlavor,
        PendingReason::kWaitingForPreemptedWorkloads, PendingReason::kWaitingForProtectedWorkloads,
        PendingReason::kWaitingForPodsReady}) {
    if (reserved->reason == to_text(found)) return false;
  }
  return true;
}

std::vector<PodSetState> read_pod_sets(const Workload& workload, const std::vector<Requests>& pod_requests,
                                       QuotaIdTable& names, bool reclaims) {
  std::vector<PodSetState> pod_sets;
  pod_sets.reserve(workload.pod_sets.size());
  for (size_t i = 0; i < workload.pod_sets.size(); ++i) {
    PodSetState pod_set{.count = count_after_reclaim(workload, workload.pod_sets[i], reclaims), .per_pod = {}};
    if (i < pod_requests.size()) {
      for (const auto& [resource, amount] : pod_requests[i])
        pod_set.per_pod.push_back({names.requested(resource), amount});
    }
    // The order in which Kueue visits resources: if several refuse, the user sees the first one.
    std::sort(pod_set.per_pod.begin(), pod_set.per_pod.end(), [&](const ResourceAmount& a, const ResourceAmount& b) {
      return names.visiting_order(a.resource) < names.visiting_order(b.resource);
    });
    // Several names can share an id.
    pod_set.per_pod.erase(
        std::unique(pod_set.per_pod.begin(), pod_set.per_pod.end(),
                    [](const ResourceAmount& a, const ResourceAmount& b) { return a.resource == b.resource; }),
        pod_set.per_pod.end());
    pod_sets.push_back(std::move(pod_set));
  }
  return pod_sets;
}

std::vector<FlavorId> failed_flavors(const Workload& workload, const QueueState& queue, const QuotaIdTable& names) {
  std::vector<FlavorId> failed;
  const FlavorHistory& history = workload.status.flavors;
  // Failures in another ClusterQueue say nothing about this one: flavors of one name can have other rules (KEP-2560).
  if (!history.is_about(queue.name)) return failed;
  for (const FlavorAttempt& attempt : history.attempts) {
    const std::optional<FlavorId> flavor = names.find_flavor(attempt.flavor);
    if (attempt.failure && flavor) failed.push_back(*flavor);
  }
  std::sort(failed.begin(), failed.end());
  return failed;
}

// Protection counts from the timestamp of the admission. A timestamp has no fraction of a second, so the replica that
// decided uses its exact time: an admission after the start of a preemptor's wait must not seem older.
void read_start(const Workload& workload, WorkloadState::Holding& holding, Now now) {
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  auto& start = holding.start;
  if (admitted == nullptr || !admitted->is_true()) return start.reset();
  if (start && start->stamp == admitted->last_transition) return;
  const Duration age = std::max(time_between(to_time_point(admitted->last_transition), now.wall), Duration::zero());
  const MonotonicTime by_stamp = now.monotonic - age;
  if (start) {
    start->at = holding.assumed ? std::max(start->at, by_stamp) : by_stamp;
    start->stamp = admitted->last_transition;
  } else {
    start = {.at = by_stamp, .stamp = admitted->last_transition, .priority_class = workload.priority_class};
  }
}

}  // namespace muster::scheduler
