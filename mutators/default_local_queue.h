// A job without a queue name goes to the LocalQueue `default` of its namespace, if
// there is one and managedJobsNamespaceSelector matches the namespace; unless its
// controller is of an enabled kind and so brings the queue name itself.
// Source: Kueue, "Setup a default LocalQueue".
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {
extern const Mutator default_local_queue;
}  // namespace muster::mutators
