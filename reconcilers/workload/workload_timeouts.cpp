#include "reconcilers/workload/workload_timeouts.h"

#include "reconcilers/workload/backoff.h"
#include "reconcilers/workload/unready_parts.h"

namespace muster::reconcilers {
namespace {

// Records the first admission if it counts, without a separate write.
void note_first_admission(RequeueState& state, const WorkloadEditor& editor, const RequeuingStrategy& strategy) {
  if (!strategy.backoff_limit_timeout || !state.first_admitted_at.is_zero()) return;
  state.first_admitted_at = editor.find(kAdmittedCondition)->last_transition;
}

// The reason why no attempt is left; empty if an attempt is left.
std::string limit_reached(const RequeueState& state, const RequeuingStrategy& strategy, TimePoint now) {
  if (strategy.backoff_limit_count && state.count.value_or(0) >= *strategy.backoff_limit_count)
    return "exceeding the maximum number of re-queuing retries";
  if (strategy.backoff_limit_timeout && to_time_point(state.first_admitted_at) + *strategy.backoff_limit_timeout <= now)
    return "exceeding the maximum time of re-queuing retries";
  return "";
}

// One more eviction and its backoff, or deactivation if no attempt is left.
void evict_or_give_up(WorkloadEditor& editor, const RequeuingStrategy& strategy, std::string_view cause,
                      const std::string& message) {
  editor.blame_late_pods();
  RequeueState state = editor.status.requeue_state.value_or(RequeueState());
  note_first_admission(state, editor, strategy);
  if (std::string limit = limit_reached(state, strategy, editor.time()); !limit.empty()) {
    editor.target_deactivation(kRequeuingLimitExceededReason, limit);
    return;
  }
  count_eviction(state, strategy, editor.workload().meta.uid, editor.time());
  editor.status.requeue_state = state;
  editor.evict(kPodsReadyTimeoutReason, cause, message);
}

}  // namespace

std::optional<PodsReadyWait> pods_ready_wait(const Conditions& conditions, const WaitForPodsReady& settings) {
  const Condition* admitted = find_condition(conditions, kAdmittedCondition);
  const Condition* ready = find_condition(conditions, kPodsReadyCondition);
  if (admitted == nullptr || !admitted->is_true() || (ready != nullptr && ready->is_true())) return std::nullopt;
  // Old versions of Kueue wrote "PodsReady" instead of WaitForStart.
  if (ready == nullptr || ready->reason == kWaitForStartReason || ready->reason == kPodsReadyCondition)
    return PodsReadyWait{kWaitForStartReason, to_time_point(admitted->last_transition) + settings.timeout};
  if (ready->reason == kWaitForNextPartReason)
    return PodsReadyWait{kWaitForStartReason, to_time_point(ready->last_transition) + settings.timeout};
  if (ready->reason == kWaitForRecoveryReason && settings.recovery_timeout)
    return PodsReadyWait{kWaitForRecoveryReason, to_time_point(ready->last_transition) + *settings.recovery_timeout};
  return std::nullopt;
}

void enforce_pods_ready_timeouts(WorkloadEditor& editor, const std::optional<WaitForPodsReady>& settings,
                                 const state::ClusterState& state, Plan& plan) {
  if (!settings || !editor.workload().active || editor.is_true(kEvictedCondition)) return;
  const std::optional<PodsReadyWait> wait = pods_ready_wait(editor.status.conditions, *settings);
  if (!wait) return;
  if (editor.time() < wait->end) return plan.wake_at(wait->end);

  const ObjectMeta& meta = editor.workload().meta;
  std::string message = "Exceeded the PodsReady timeout " + meta.ns + "/" + meta.name;
  // Tools know the sentence before the parentheses.
  if (const std::string unready = unready_parts(editor.workload(), state); !unready.empty())
    message += " (" + unready + ")";
  evict_or_give_up(editor, settings->requeuing, wait->cause, message);
}

void evict_late_gang(WorkloadEditor& editor, const RequeuingStrategy& strategy, const std::string& message) {
  evict_or_give_up(editor, strategy, kWaitForStartReason, message);
}

}  // namespace muster::reconcilers
