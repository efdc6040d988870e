#include "scheduler/order/workload_order.h"

#include "scheduler/preemption/preemption.h"

namespace muster::scheduler {
namespace {

constexpr int32_t kMillisecond = 1'000'000;

const Condition* true_condition(const Workload& workload, std::string_view type) {
  const Condition* condition = find_condition(workload.status.conditions, type);
  return condition != nullptr && condition->is_true() ? condition : nullptr;
}

// Strictly after what the preemptor is ordered by.
Timestamp just_after(Timestamp time) {
  time.nanoseconds += kMillisecond;
  return time;
}

}  // namespace

// Evictions that are not caused by the Workload keep the place in the queue: creation. One for late pods moves the
// Workload behind others if requeuingStrategy.timestamp says Eviction (KEP-1282), and one by an admission check always
// does.
OrderTime order_time(const Workload& workload, RequeuingStrategy::Timestamp timestamp,
                     bool priority_sorting_within_cohort) {
  if (const Condition* evicted = true_condition(workload, kEvictedCondition)) {
    const bool late = evicted->reason == kPodsReadyTimeoutReason &&  //
                      timestamp == RequeuingStrategy::Timestamp::kEviction;
    if (late || evicted->reason == kAdmissionCheckReason) return {evicted->last_transition, OrderTimeOf::kEviction};
  }
  // Otherwise the victim would be ordered before its preemptor, take the quota back, and be preempted again.
  if (!priority_sorting_within_cohort) {
    const Condition* preempted = true_condition(workload, kPreemptedCondition);
    if (preempted != nullptr && preempted->reason == to_text(PreemptionReason::kInCohortReclaimWhileBorrowing))
      return {just_after(preempted->last_transition), OrderTimeOf::kPreemption};
  }
  return {workload.meta.created, OrderTimeOf::kCreation};
}

Timestamp order_timestamp(const Workload& workload, RequeuingStrategy::Timestamp timestamp,
                          bool priority_sorting_within_cohort) {
  return order_time(workload, timestamp, priority_sorting_within_cohort).at;
}

}  // namespace muster::scheduler
