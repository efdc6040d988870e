#include "state/admission_block.h"

#include "api/workload_conditions.h"

namespace muster {

std::optional<AdmissionBlock> admission_block(const Workload& workload, const WaitForPodsReady& settings) {
  if (!workload.has_quota_reserved() || workload.finished()) return std::nullopt;
  const auto find = [&](std::string_view type) { return find_condition(workload.status.conditions, type); };
  const Condition* ready = find(kPodsReadyCondition);
  if (ready != nullptr && ready->is_true()) return std::nullopt;

  const auto since = [](const Condition& condition) { return to_time_point(condition.last_transition); };
  const auto at_most = [&](TimePoint begin) { return AdmissionBlock{begin, begin + settings.timeout}; };
  if (workload.evicted()) return at_most(since(*find(kEvictedCondition)));
  if (workload.meta.deleting || !workload.admitted()) return at_most(since(*find(kQuotaReservedCondition)));
  if (ready == nullptr || ready->reason != kWaitForRecoveryReason)
    return AdmissionBlock{since(*find(kAdmittedCondition))};
  return settings.recovery_timeout ? AdmissionBlock{since(*ready)} : at_most(since(*ready));
}

}  // namespace muster
