// What a new ClusterQueue or ResourceFlavor gets: the finalizer that keeps it for as long
// as Workloads use it; and a quota that nobody stated is none. Source: Kueue's webhooks.
#pragma once

#include "mutators/mutator.h"

namespace muster {

extern const Mutator queue_defaults;

}  // namespace muster
