#include "reconcilers/workload/execution_time.h"

#include "api/texts/workload_texts.h"

namespace muster::reconcilers {

void enforce_execution_time(WorkloadEditor& editor, Plan& plan) {
  const auto left = execution_time_left(editor.workload(), editor.admitted_for());
  if (!left || !editor.is_true(kAdmittedCondition)) return;
  // The Workload must already stop. Writing this again and again would prevent the job from releasing it.
  if (!editor.workload().active || editor.is_true(kEvictedCondition)) return;
  if (*left > Duration::zero()) return plan.wake_at(editor.time() + *left);
  if (editor.is_true(kDeactivationTargetCondition)) return;
  editor.target_deactivation(kMaximumExecutionTimeExceededReason, "exceeding the maximum execution time");
  editor.status.accumulated_past_execution_seconds = 0;
  editor.record_event(
      EventReason::kMaximumExecutionTimeExceeded,
      "The maximum execution time (" + std::to_string(*editor.workload().maximum_execution_seconds) + "s) exceeded");
}

}  // namespace muster::reconcilers
