#include "test/world/invariants/backoff_invariants.h"

#include <algorithm>

#include "api/workload.h"
#include "api/workload_conditions.h"
#include "kinds/described_job.h"
#include "kinds/typed_object.h"

namespace muster::world {
namespace {

using std::chrono::seconds;

int32_t count_of(const Workload* workload) {
  return workload == nullptr || !workload->status.requeue_state ? 0 : workload->status.requeue_state->count.value_or(0);
}

}  // namespace

void BackoffInvariants::see(const Change& change) {
  if (*change.type != kWorkloads) return;
  const WorkloadPtr after = read_workload(*change.after);
  if (change.removed || after->finished()) return void(backoffs_.erase(after->meta.uid));
  const WorkloadPtr before = change.before == nullptr ? nullptr : read_workload(*change.before);
  if (count_of(after.get()) > count_of(before.get())) check_length(*after);
  if (after->has_quota_reserved() && (before == nullptr || !before->has_quota_reserved())) check_return(*after);
  const auto& state = after->status.requeue_state;
  // A Workload that is activated again begins without a history.
  if (!state) return void(backoffs_.erase(after->meta.uid));
  if (state->requeue_at.is_zero()) return;
  Backoff& known = backoffs_[after->meta.uid];
  if (known.until == state->requeue_at) return;
  known = {state->requeue_at, timeline_.elapsed(), ends_at(state->requeue_at)};
}

// By the clock that does not jump.
Duration BackoffInvariants::ends_at(Timestamp until) const {
  return timeline_.elapsed() + (to_time_point(until) - timeline_.now().wall);
}

void BackoffInvariants::clock_was_set() {
  for (auto& [uid, backoff] : backoffs_)
    backoff.elapsed_until = std::min(backoff.elapsed_until, ends_at(backoff.until));
}

// From the eviction, by its stamp.
void BackoffInvariants::check_length(const Workload& workload) {
  const Condition* evicted = find_condition(workload.status.conditions, kEvictedCondition);
  if (evicted == nullptr || !evicted->is_true() || evicted->reason != kPodsReadyTimeoutReason) return;
  const int64_t most = strategy_.backoff_max_seconds > 0 ? strategy_.backoff_max_seconds : INT64_MAX / 2;
  int64_t least = strategy_.backoff_base_seconds;
  for (int32_t n = 1; n < count_of(&workload) && least < most; ++n) least *= 2;
  const int64_t lasts = workload.status.requeue_state->requeue_at.seconds - evicted->last_transition.seconds;
  if (lasts < std::min(least, most))
    violated_("backoff " + std::to_string(count_of(&workload)) + " of Workload " + workload.meta.name + " lasts " +
              std::to_string(lasts) + " s, and must last " + std::to_string(std::min(least, most)) + " s");
}

void BackoffInvariants::check_return(const Workload& workload) {
  const auto found = backoffs_.find(workload.meta.uid);
  if (found == backoffs_.end()) return;
  const Backoff backoff = found->second;
  backoffs_.erase(found);
  // One second for a decision that was made in time and whose timestamp is rounded down.
  const Duration early = seconds(1) + scaled(backoff.elapsed_until - backoff.elapsed_from, clock_skew_);
  if (timeline_.elapsed() + early < backoff.elapsed_until)
    violated_("Workload " + workload.meta.name + " got quota " +
              std::to_string((backoff.elapsed_until - timeline_.elapsed()) / seconds(1)) +
              " s before its backoff was over");
}

}  // namespace muster::world
