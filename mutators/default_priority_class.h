// A queued job without a priority gets the WorkloadPriorityClass `default`, if there
// is one; unless its controller is of an enabled kind. Runs after
// default_local_queue, which makes jobs queued.
//
// Kueue labels jobs that are in no queue as well. There the label has no meaning,
// and to set it every Job of the cluster would depend on this webhook.
// Source: Kueue, gate WorkloadPriorityClassDefaulting.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {
extern const Mutator default_priority_class;
}  // namespace muster::mutators
