// A queued job is created suspended: it starts when its queue admits it. Jobs below
// a managed ancestor are left alone, because the ancestor is what waits. A missing
// ancestor or a cycle refuses the request: whether the job may start is unknown.
// Source: Kueue, "Run Jobs"; KEP-2322 of Kubernetes for what suspending means.
#pragma once

#include "mutators/mutator.h"

namespace muster {
extern const Mutator suspend;
}  // namespace muster
