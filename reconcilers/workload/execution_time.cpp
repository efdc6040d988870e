#include "reconcilers/workload/execution_time.h"

#include <algorithm>

#include "api/texts/workload_texts.h"

namespace muster::reconcilers {

void end_execution(WorkloadStatus& status, Duration admitted_for) {
  int32_t& accumulated = status.accumulated_past_execution_seconds;
  const Condition* evicted = find_condition(status.conditions, kEvictedCondition);
  if (evicted != nullptr && evicted->is_true() &&
      deactivation_cause(evicted->reason) == kMaximumExecutionTimeExceededReason) {
    accumulated = 0;
    return;
  }
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(admitted_for).count();
  accumulated = static_cast<int32_t>(std::min<int64_t>(accumulated + seconds, INT32_MAX));
}

void obey_execution_time(WorkloadDraft& draft, Plan& plan) {
  const auto& allowed = draft.workload().maximum_execution_seconds;
  if (!allowed || !draft.is_true(kAdmittedCondition)) return;
  // The Workload must already stop. Writing this again and again would prevent the job from releasing it.
  if (!draft.workload().active || draft.is_true(kEvictedCondition)) return;
  const Duration all = std::chrono::seconds(int64_t{*allowed} - draft.status.accumulated_past_execution_seconds);
  if (draft.admitted_for() < all) return plan.wake_at(draft.time() + (all - draft.admitted_for()));
  if (draft.is_true(kDeactivationTargetCondition)) return;
  draft.target_deactivation(kMaximumExecutionTimeExceededReason, "exceeding the maximum execution time");
  draft.status.accumulated_past_execution_seconds = 0;
  draft.record_event(EventReason::kMaximumExecutionTimeExceeded,
                     "The maximum execution time (" + std::to_string(*allowed) + "s) exceeded");
}

}  // namespace muster::reconcilers
