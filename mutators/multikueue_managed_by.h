// A job in a queue whose ClusterQueue uses a MultiKueue admission check runs in
// another cluster: spec.managedBy keeps the local controller's hands off. A manager
// that the user named is kept. Source: Kueue, MultiKueue; KEP-4368 of Kubernetes.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {
extern const Mutator multikueue_managed_by;
}  // namespace muster::mutators
