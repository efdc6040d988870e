#include "reconcilers/workload/flavor_clock.h"

#include <algorithm>
#include <limits>

namespace muster::reconcilers {
namespace {

using std::chrono::seconds;

// Stamps of another age are cut, so that no difference overflows.
Duration running_for(const FlavorAttempt& attempt, TimePoint now) {
  const TimePoint since = std::clamp(to_time_point(attempt.assigned_at), now - 2 * kLongestFallbackTimeout, now);
  return now - since;
}

}  // namespace

void keep_flavors_of(const ClusterQueue& queue, FlavorHistory& history) {
  if (!history.is_about(queue.meta.name))
    history = {.attempts = {}, .fallback = FlavorFallbackState{.cluster_queue = queue.meta.name}};
  const std::vector<std::string> flavors = flavors_of(queue);
  std::erase_if(history.attempts, [&](const FlavorAttempt& attempt) {
    return std::find(flavors.begin(), flavors.end(), attempt.flavor) == flavors.end();
  });
}

bool flavor_clocks_run(const WorkloadStatus& status) {
  if (!status.admission || !condition_is_true(status.conditions, kQuotaReservedCondition) ||
      condition_is_true(status.conditions, kEvictedCondition))
    return false;
  const Condition* ready = find_condition(status.conditions, kPodsReadyCondition);
  return ready != nullptr && !ready->is_true() &&
         (ready->reason == kWaitForStartReason || ready->reason == kWaitForNextPartReason);
}

void start_flavor_clocks(WorkloadStatus& status, const ClusterQueue& queue, Timestamp stamp) {
  keep_flavors_of(queue, status.flavors);
  for (const std::string& flavor : assigned_flavors(*status.admission)) {
    FlavorAttempt* attempt = status.flavors.find(flavor);
    if (attempt == nullptr)
      status.flavors.attempts.push_back({.flavor = flavor, .assigned_at = stamp});
    else
      attempt->assigned_at = stamp;
  }
}

void start_missing_flavor_clocks(WorkloadStatus& status, const ClusterQueue& queue, Timestamp stamp) {
  if (!status.flavors.is_about(queue.meta.name)) keep_flavors_of(queue, status.flavors);
  for (const std::string& flavor : assigned_flavors(*status.admission)) {
    if (status.flavors.find(flavor) == nullptr)
      status.flavors.attempts.push_back({.flavor = flavor, .assigned_at = stamp});
  }
}

void stop_flavor_clocks(WorkloadStatus& status, TimePoint now) {
  if (status.flavors.empty() || !flavor_clocks_run(status)) return;
  for (const std::string& flavor : assigned_flavors(*status.admission)) {
    FlavorAttempt* attempt = status.flavors.find(flavor);
    if (attempt == nullptr) continue;
    const int64_t used = attempt->used_seconds + std::chrono::ceil<seconds>(running_for(*attempt, now)).count();
    attempt->used_seconds = static_cast<int32_t>(std::min<int64_t>(used, std::numeric_limits<int32_t>::max()));
  }
}

Duration time_left(const FlavorAttempt& attempt, Duration timeout, TimePoint now) {
  return timeout - seconds(attempt.used_seconds) - running_for(attempt, now);
}

std::vector<FlavorEnd> flavor_ends(const WorkloadStatus& status, const FallbackStrategy& strategy) {
  std::vector<FlavorEnd> ends;
  if (!flavor_clocks_run(status) || !status.flavors.is_about(status.admission->cluster_queue)) return ends;
  for (const std::string& flavor : assigned_flavors(*status.admission)) {
    const auto timeout = strategy.timeout_of(flavor);
    const FlavorAttempt* attempt = status.flavors.find(flavor);
    if (!timeout || attempt == nullptr) continue;
    const TimePoint since =
        std::clamp(to_time_point(attempt->assigned_at), TimePoint{}, TimePoint::max() - kLongestFallbackTimeout);
    const Duration time = *timeout - seconds(std::max(attempt->used_seconds, 0));
    ends.push_back({since + time, time, flavor});
  }
  std::sort(ends.begin(), ends.end(), [](const FlavorEnd& a, const FlavorEnd& b) { return a.end < b.end; });
  return ends;
}

bool tracks_flavors(const Workload& workload, const ClusterQueue* queue) {
  return !workload.status.flavors.attempts.empty() || (queue != nullptr && queue->fallback);
}

}  // namespace muster::reconcilers
