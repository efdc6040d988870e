// AdmissionChecks stay as long as a ClusterQueue names them. Whether they are active says
// whoever decides on them. Source: Kueue's AdmissionCheck controller.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster {
extern const Reconciler admission_check_reconciler;
}  // namespace muster
