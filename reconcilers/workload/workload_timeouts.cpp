#include "reconcilers/workload/workload_timeouts.h"

#include "reconcilers/workload/backoff.h"
#include "reconcilers/workload/unready_parts.h"

namespace muster::reconcilers {
namespace {

// Records the first admission if it counts, without a separate write.
void note_first_admission(RequeueState& state, const WorkloadDraft& draft, const RequeuingStrategy& strategy) {
  if (!strategy.backoff_limit_timeout || !state.first_admitted_at.is_zero()) return;
  state.first_admitted_at = draft.find(kAdmittedCondition)->last_transition;
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
void evict_or_give_up(WorkloadDraft& draft, const RequeuingStrategy& strategy, std::string_view cause,
                      const std::string& message) {
  draft.blame_late_pods();
  RequeueState state = draft.status.requeue_state.value_or(RequeueState());
  note_first_admission(state, draft, strategy);
  if (std::string limit = limit_reached(state, strategy, draft.time()); !limit.empty()) {
    draft.target_deactivation(kRequeuingLimitExceededReason, limit);
    return;
  }
  count_eviction(state, strategy, draft.workload().meta.uid, draft.time());
  draft.status.requeue_state = state;
  draft.evict(kPodsReadyTimeoutReason, cause, message);
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

void obey_pods_ready_timeouts(WorkloadDraft& draft, const std::optional<WaitForPodsReady>& settings,
                              const state::ClusterState& state, Plan& plan) {
  if (!settings || !draft.workload().active || draft.is_true(kEvictedCondition)) return;
  const std::optional<PodsReadyWait> wait = pods_ready_wait(draft.status.conditions, *settings);
  if (!wait) return;
  if (draft.time() < wait->end) return plan.wake_at(wait->end);

  const ObjectMeta& meta = draft.workload().meta;
  std::string message = "Exceeded the PodsReady timeout " + meta.ns + "/" + meta.name;
  // Tools know the sentence before the parentheses.
  if (const std::string unready = unready_parts(draft.workload(), state); !unready.empty())
    message += " (" + unready + ")";
  evict_or_give_up(draft, settings->requeuing, wait->cause, message);
}

void evict_late_gang(WorkloadDraft& draft, const RequeuingStrategy& strategy, const std::string& message) {
  evict_or_give_up(draft, strategy, kWaitForStartReason, message);
}

}  // namespace muster::reconcilers
