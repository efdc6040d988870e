// Which Workloads can be evicted to get quota for a Workload, and the smallest sufficient set.
//
// Candidates are removed in order until the Workload fits; then unneeded candidates are restored, the last one first.
// The state does not change: the search runs in simulations of the ledger. Source: Kueue KEPs 83, 1337 (classic) and
// 1714 (fair sharing).
#pragma once

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "scheduler/capacity/claim.h"
#include "scheduler/preemption/preemption_reason.h"
#include "scheduler/preemption/protection.h"
#include "scheduler/state.h"

namespace muster::scheduler {

struct Victim {
  WorkloadState* workload;
  PreemptionReason reason;
};

struct PreemptionRequest {
  const WorkloadState& preemptor;
  std::vector<QuotaId> contested;  // quotas without enough free amount
  Amounts quota;                   // of the whole Workload
  // Of the whole Workload; empty without further capacities. They are asked again without each set of victims.
  std::vector<FurtherAsk> asks{};
  Now now;
  // Those of the further capacities that are short now; find_victims() sets it.
  std::vector<CapacityId> short_ones{};
};

// Empty when no allowed set of evictions is sufficient. `spared` collects the Workloads that are no candidates only
// because of their protection.
std::vector<Victim> find_victims(SchedulerState& state, PreemptionRequest request, Spared& spared);

// The effect of preemption for one amount of one quota.
struct PreemptionForecast {
  enum class Kind { kNoCandidates, kPreempt, kReclaim };
  Kind kind;
  int level;  // Ledger::Reach::level after the evictions
};
PreemptionForecast forecast_preemption(SchedulerState& state, const WorkloadState& preemptor, QuotaId quota,
                                       int64_t amount, Now now, Spared& spared);

// Two Workloads must not evict each other forever. After this number of evictions of one Workload by the
// same preemptor within kEvictionMemorySeconds, the preemptor keeps its claim: it comes first in its tree
// until it is admitted. At kMostEvictions it cannot evict that Workload again. (In Kueue such loops do not
// end.)
inline constexpr int kEvictionsBeforeClaim = 4;
inline constexpr int kMostEvictions = 8;
inline constexpr int64_t kEvictionMemorySeconds = 3600;
int recent_evictions(const WorkloadState& victim, const WorkloadState& preemptor, Timestamp now);

}  // namespace muster::scheduler
