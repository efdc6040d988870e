// Writes what the scheduler has decided (state/admissions.h) into the Workloads: one
// status write for an admission, one for an eviction, and one for a refusal, once it has
// stood for a second. Conditions, reasons, messages and events are Kueue's.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster {
extern const Reconciler admission_reconciler;
}  // namespace muster
