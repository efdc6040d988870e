// AdmissionChecks stay as long as a ClusterQueue names them. Their controllers decide whether they are active. Source:
// Kueue's AdmissionCheck controller.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {
extern const Reconciler admission_check_reconciler;
}  // namespace muster::reconcilers
