// A Workload without pods at present: it keeps its position and its name, and requests no quota until its owner has
// pods again. Source: Kueue (StatefulSets of zero replicas).
#pragma once

#include "api/workload.h"
#include "api/workload_conditions.h"

namespace muster {

// Of QuotaReserved=False.
inline constexpr std::string_view kOnHoldReason = "OnHold";

inline bool is_on_hold(const Workload& workload) {
  const Condition* reserved = find_condition(workload.status.conditions, kQuotaReservedCondition);
  return reserved != nullptr && !reserved->is_true() && reserved->reason == kOnHoldReason;
}

}  // namespace muster
