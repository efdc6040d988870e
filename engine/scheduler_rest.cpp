#include "engine/scheduler_rest.h"

#include <algorithm>

namespace muster::engine {
namespace {

// An object that breaks the scheduler in a new way each time must leave time for other work.
constexpr Duration kRests = std::chrono::seconds(1);
// After a failure over no Workload: it will fail again.
constexpr Duration kRestsLong = std::chrono::seconds(10);
// Longer than an answer and the watch need, and a limit if the watch of Workloads is lost.
constexpr Duration kLongestForAdmissions = std::chrono::seconds(30);
// If this many Workloads of one ClusterQueue fail, the ClusterQueue is the cause.
constexpr int kWorkloadsOfABrokenQueue = 3;

}  // namespace

void SchedulerRest::failed(MonotonicTime now) {
  until_ = now + kRestsLong;
}

bool SchedulerRest::failed_over(const std::string& cluster_queue, MonotonicTime now) {
  until_ = now + kRests;
  if (++failed_in_[cluster_queue] < kWorkloadsOfABrokenQueue) return false;
  failed_in_.erase(cluster_queue);
  return true;
}

void SchedulerRest::rebuilt(MonotonicTime now) {
  awaits_admissions_until_ = now + kLongestForAdmissions;
}

bool SchedulerRest::wake(MonotonicTime now, bool all_seen) {
  if (now < until_) return false;
  until_ = {};
  if (!awaits_admissions_until_) return true;
  if (!all_seen && now < *awaits_admissions_until_) return false;
  awaits_admissions_until_.reset();
  return true;
}

MonotonicTime SchedulerRest::not_before(MonotonicTime wanted) const {
  return std::max({wanted, until_, awaits_admissions_until_.value_or(wanted)});
}

std::optional<MonotonicTime> SchedulerRest::ends() const {
  return until_ == MonotonicTime{} ? std::nullopt : std::optional(until_);
}

}  // namespace muster::engine
