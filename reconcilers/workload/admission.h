// Writes what the scheduler has decided (state/scheduler_driver.h) into the Workloads: one
// status write for an admission, one for an eviction, and one for a refusal, once it has
// stood for a second. Conditions, reasons, messages and events are Kueue's.
#pragma once

#include "api/workload.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {
extern const Reconciler admission_reconciler;

// The status that the reconciler writes for a pending decision, as a value: for callers that apply pending decisions
// without an API server (forecast). It includes a refusal at once, without the delay of one second before a
// write.
WorkloadStatus status_after(const state::PendingDecision& decision, const Workload& workload,
                            const ReconcileContext& context);
}  // namespace muster::reconcilers
