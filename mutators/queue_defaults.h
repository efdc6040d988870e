// The defaults of a new ClusterQueue or ResourceFlavor: the finalizer that keeps it while Workloads use it; a missing
// quota is 0. Source: Kueue's webhooks.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

extern const Mutator queue_defaults;

}  // namespace muster::mutators
