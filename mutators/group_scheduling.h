// Start as a group (KEP-498), the webhook's half: two mutators over the pod
// templates of a gang's targets. jobs/group_scheduling.h says what is injected
// and what the waiter and the reconciler agreed on.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

// On CREATE: the waiter, its volume and the epoch.
extern const Mutator group_scheduling_inject;
// On UPDATE: injected parts stay unchanged; a resumed run gets a new epoch. Runs after every mutator that can change
// `suspend`.
extern const Mutator group_scheduling_keep;

}  // namespace muster::mutators
