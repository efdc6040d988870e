// A queued job is created suspended: it starts when its queue admits it. Jobs below a managed ancestor are
// not changed, because the ancestor is queued. A missing ancestor or a cycle refuses the request: it is
// unknown whether the job can start. Source: Kueue, "Run Jobs"; KEP-2322 of Kubernetes for what suspending
// means.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {
extern const Mutator suspend;
}  // namespace muster::mutators
