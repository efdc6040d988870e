// The life of a Workload except its scheduling and its job: checks, admission once they are ready, timeouts,
// evictions, backoff, deactivation and reactivation, orphans. Source: Kueue's Workload controller; KEP-349 and
// KEP-1282.
//
// One pass decides on one Workload and asks for at most one write. What follows an
// eviction (stopping the job, Requeued, the end of the reservation) is the reconciler's
// of its job; what gives it quota is the scheduler's.
#pragma once

#include <optional>

#include "api/workload.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {
extern const Reconciler workload_reconciler;

// The decision of one pass, as a value: for callers that keep Workloads without an API server (forecast).
// Owners, retention and priority classes are ignored.
struct WorkloadPass {
  std::optional<WorkloadStatus> status{};  // nullopt: as it is
  bool deactivates = false;                // spec.active turns false
  std::optional<TimePoint> again_at{};     // when to ask again although nothing has happened
};
WorkloadPass pass_over(const Workload& workload, const ReconcileContext& context);
}  // namespace muster::reconcilers
