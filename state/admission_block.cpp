#include "state/admission_block.h"

#include "api/workload.h"
#include "api/workload_conditions.h"

namespace muster::state {

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

void AdmissionBlocks::put(const std::string& workload, const AdmissionBlock& block, Now now) {
  const auto known = blocks_.find(workload);
  if (known != blocks_.end() && known->second.block == block) return;
  erase(workload);
  Block noted{.block = block, .until = {}};
  if (block.until) noted.until = now.monotonic + (*block.until - now.wall);
  const auto added = blocks_.emplace(workload, noted).first;
  order_.emplace(block.since, added->first);
}

void AdmissionBlocks::erase(std::string_view workload) {
  const auto known = blocks_.find(workload);
  if (known == blocks_.end()) return;
  order_.erase({known->second.block.since, known->first});
  blocks_.erase(known);
}

std::string_view AdmissionBlocks::first(MonotonicTime now) const {
  while (!order_.empty()) {
    const std::string_view workload = order_.begin()->second;
    const Block& block = blocks_.find(workload)->second;
    if (!block.until || now < *block.until) return workload;
    order_.erase(order_.begin());
  }
  return {};
}

}  // namespace muster::state
