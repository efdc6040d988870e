// Which flavor each resource of each pod set would get, and the reasons against the other flavors.
//
// Per pod set and resource group the flavors are tried in the ClusterQueue's order: a flavor is skipped
// if it is missing, tainted, excluded by affinity or has failed for the Workload. Other flavors fit at
// once, after preemption, or not at all, with quota from nearer or farther in the Cohort tree.
// flavorFungibility decides when to continue and which of these flavors is the best. Source: Kueue KEPs
// 582 and 1337.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "scheduler/capacity/capacity.h"
#include "scheduler/capacity/claim.h"
#include "scheduler/outcome.h"
#include "scheduler/preemption/protection.h"
#include "scheduler/state.h"

namespace muster::scheduler {

// Why pods of this pod set cannot run on a flavor, whatever its quota; nullopt: they can.
std::optional<FlavorRejection> why_ineligible(const SchedulerState& state, FlavorId flavor, const PodSet& pod_set);
// Whether the pod set needs a flavor with a topology. muster knows none, so no flavor suits it.
bool needs_topology(const SchedulerState& state, const PodSet& pod_set);

// From worst to best.
enum class FitMode { kNoFit, kPreempt, kDeferredFit, kFit };

struct FlavorChoice {
  ResourceId resource;
  FlavorId flavor;
  QuotaId quota;
  FitMode mode;
  int level;  // Ledger::Reach::level
};

struct PodSetPlacement {
  int32_t count = 0;
  std::vector<ResourceAmount> requests{};    // of all its pods
  std::vector<FlavorChoice> choices{};       // empty: no flavor for some resource
  CapacityUses uses{};                       // of further capacities
  std::vector<FlavorRejection> obstacles{};  // empty: it fits

  FitMode mode() const;
  const FlavorChoice* choice(ResourceId resource) const;
};

// Flavors for a whole Workload, or for as many pod sets as there were flavors for.
struct Placement {
  std::vector<PodSetPlacement> pod_sets;
  FitMode mode = FitMode::kNoFit;
  int level = 0;  // the highest of its choices
  Claim claim;
  ScanProgress progress;
  PendingReason no_fit_reason = PendingReason::kNone;

  std::vector<QuotaId> contested() const;  // chosen, but only after preemption
  // From which the uses of further capacities follow.
  std::vector<FurtherAsk> asks() const;
  // Those of the same flavors, as the counts are now.
  void take(const Capacity::AssignedAll& assigned);
};
// Of one pod set, added to `asks`.
void add_asks(uint32_t pod_set, const PodSetPlacement& placed, std::vector<FurtherAsk>& asks);

class FlavorAssigner {
 public:
  // `spared` collects the Workloads that cannot be preempted yet.
  FlavorAssigner(SchedulerState& state, const WorkloadState& workload, Now now, Spared& spared)
      : state_(state), workload_(workload), queue_(*workload.queue), now_(now), spared_(spared) {}

  // Only the flavors of this placement are considered from now on, from the first one.
  void pin(const Placement& nominated) { nominated_ = &nominated; }

  // `counts`: pods per pod set, the full ones when empty.
  Placement place(const std::vector<int32_t>& counts = {}) const;

 private:
  // How a request would fit: kinds of preemption are ranked too.
  enum class Rank { kNoFit, kNoCandidates, kPreempt, kReclaim, kFit };
  struct Standing {
    Rank rank = Rank::kNoFit;
    int level = 0;
  };
  struct Scan {
    std::vector<FlavorChoice> choices;
    CapacityUses uses;  // of further capacities
    std::vector<FlavorRejection> obstacles;
    int stopped_at = ScanProgress::kFinished;
    PendingReason reason = PendingReason::kNone;  // the mildest reason of the flavors that do not fit
  };
  struct Try {
    Standing standing;
    std::vector<FlavorChoice> choices;
    CapacityUses uses{};
    PendingReason reason = PendingReason::kNone;
  };

  std::vector<ResourceAmount> requests_of(size_t pod_set, int32_t count) const;
  bool place_pod_set(size_t index, Placement& placement, PodSetPlacement& pod_set) const;
  Scan scan(const QueueGroup& group, size_t index, const PodSetPlacement& pod_set, ResourceId first,
            const Placement& before) const;
  bool pinned_out(size_t pod_set, ResourceId resource, FlavorId flavor) const;
  Try try_flavor(const QueueGroup& group, FlavorId flavor, const std::vector<ResourceAmount>& requests,
                 const Amounts& before, std::vector<FlavorRejection>& obstacles) const;
  void ask_further(FlavorId flavor, size_t index, const PodSetPlacement& pod_set, const Placement& before, Try& tried,
                   std::vector<FlavorRejection>& obstacles) const;
  Rank rank_after_preemption(FlavorId flavor, size_t index, const PodSetPlacement& pod_set, const Placement& before,
                             const Try& tried) const;
  Standing stand(QuotaId quota, int64_t before, int64_t request, bool ask_preemption,
                 std::vector<FlavorRejection>& obstacles, PendingReason& reason) const;
  bool preferred(const Standing& a, const Standing& b) const;
  bool go_on(const Standing& standing) const;

  SchedulerState& state_;
  const WorkloadState& workload_;
  const QueueState& queue_;
  Now now_;
  Spared& spared_;
  const Placement* nominated_ = nullptr;
};

}  // namespace muster::scheduler
