// Writes what the scheduler has decided (state/admissions.h) into the Workloads: one
// status write for an admission, one for an eviction, and one for a refusal, once it has
// stood for a second. Conditions, reasons, messages and events are Kueue's.
#pragma once

#include "reconcilers/reconciler.h"
#include "state/admissions.h"

namespace muster {
extern const Reconciler admission_reconciler;

// The status that the reconciler writes for a ruling, as a value: for who carries rulings out without an API server
// (simulation/what_if). A refusal is in it at once, without the second for which a written one has to stand.
WorkloadStatus status_after(const Ruling& ruling, const Workload& workload, const ClusterState& state,
                            const QueueSettings& settings, Now now);
}  // namespace muster
