// ResourceFlavors stay as long as a ClusterQueue names them.
// Source: Kueue's ResourceFlavor controller.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {
extern const Reconciler resource_flavor_reconciler;
}  // namespace muster::reconcilers
