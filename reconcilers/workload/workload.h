// The life of a Workload but for its scheduling and its job: checks, admission once they
// are ready, timeouts, evictions, backoff, deactivation and reactivation, orphans.
// Source: Kueue's Workload controller; KEP-349 and KEP-1282.
//
// One pass decides on one Workload and asks for at most one write. What follows an
// eviction (stopping the job, Requeued, the end of the reservation) is the reconciler's
// of its job; what gives it quota is the scheduler's.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster {
extern const Reconciler workload_reconciler;
}  // namespace muster
