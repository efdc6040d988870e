#include "reconcilers/workload/execution_time.h"

#include "api/texts/workload_texts.h"

namespace muster::reconcilers {

void obey_execution_time(WorkloadEditor& editor, Plan& plan) {
  const auto& allowed = editor.workload().maximum_execution_seconds;
  if (!allowed || !editor.is_true(kAdmittedCondition)) return;
  // The Workload must already stop. Writing this again and again would prevent the job from releasing it.
  if (!editor.workload().active || editor.is_true(kEvictedCondition)) return;
  const Duration all = std::chrono::seconds(int64_t{*allowed} - editor.status.accumulated_past_execution_seconds);
  if (editor.admitted_for() < all) return plan.wake_at(editor.time() + (all - editor.admitted_for()));
  if (editor.is_true(kDeactivationTargetCondition)) return;
  editor.target_deactivation(kMaximumExecutionTimeExceededReason, "exceeding the maximum execution time");
  editor.status.accumulated_past_execution_seconds = 0;
  editor.record_event(EventReason::kMaximumExecutionTimeExceeded,
                     "The maximum execution time (" + std::to_string(*allowed) + "s) exceeded");
}

}  // namespace muster::reconcilers
