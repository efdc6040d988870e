// Whom a Workload may evict to get quota, and the fewest that suffice.
//
// Candidates are taken away in order until the Workload fits; then those that turn out not
// to be needed are put back, the last taken first. Nothing is changed: the search runs in
// simulations of the ledger. Source: Kueue KEPs 83, 1337 (classic) and 1714 (fair sharing).
#pragma once

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "scheduler/preemption/protection.h"
#include "scheduler/state.h"

namespace muster {

enum class PreemptionReason {
  kInClusterQueue,
  kInCohortReclamation,
  kInCohortReclaimWhileBorrowing,
  kInCohortFairSharing
};
// "InClusterQueue", ...
std::string_view to_text(PreemptionReason reason);
// "prioritization in the ClusterQueue", ...
std::string_view explanation_of(PreemptionReason reason);

struct Victim {
  WorkloadState* workload;
  PreemptionReason reason;
};

struct PreemptionRequest {
  const WorkloadState& preemptor;
  std::vector<QuotaId> contested;  // what there is too little of
  Amounts usage;                   // all that the Workload would use
  Now now;
};

// Empty when no allowed set of evictions makes room. `spared` is told of the Workloads that are no candidates
// only because they are protected.
std::vector<Victim> find_victims(SchedulerState& state, const PreemptionRequest& request, Spared& spared);

// What preemption could do for one amount of one quota.
struct PreemptionForecast {
  enum class Kind { kNoCandidates, kPreempt, kReclaim };
  Kind kind;
  int level;  // Ledger::Reach::level after the evictions
};
PreemptionForecast forecast_preemption(SchedulerState& state, const WorkloadState& preemptor, QuotaId quota,
                                       int64_t amount, Now now, Spared& spared);

// Two Workloads that take turns in evicting each other must come to rest. After this many
// evictions of one Workload by the same other within kEvictionMemorySeconds, the preemptor
// keeps its claim: it comes first in its tree until it is admitted. At kMostEvictions it may
// not evict that Workload again. (Kueue goes round in circles.)
inline constexpr int kEvictionsBeforeClaim = 4;
inline constexpr int kMostEvictions = 8;
inline constexpr int64_t kEvictionMemorySeconds = 3600;
int recent_evictions(const WorkloadState& victim, const WorkloadState& preemptor, Timestamp now);

}  // namespace muster
