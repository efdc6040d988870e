// The life of a Workload but for its scheduling and its job: checks, admission once they
// are ready, timeouts, evictions, backoff, deactivation and reactivation, orphans.
// Source: Kueue's Workload controller; KEP-349 and KEP-1282.
//
// One pass decides on one Workload and asks for at most one write. What follows an
// eviction (stopping the job, Requeued, the end of the reservation) is the reconciler's
// of its job; what gives it quota is the scheduler's.
#pragma once

#include <optional>

#include "reconcilers/reconciler.h"

namespace muster {
extern const Reconciler workload_reconciler;

// What one pass decides, as a value: for who keeps Workloads without an API server (simulation/what_if). Owners,
// retention and classes of priority are not looked at.
struct WorkloadPass {
  std::optional<WorkloadStatus> status{};  // nullopt: as it is
  bool deactivates = false;                // spec.active turns false
  std::optional<TimePoint> again_at{};     // when to ask again although nothing has happened
};
WorkloadPass pass_over(const Workload& workload, const ClusterState& state, const ReconcilerSettings& settings,
                       Now now);
}  // namespace muster
