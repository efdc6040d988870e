// Where muster itself is the JobSet controller: the values that the API promises for
// what a JobSet leaves out (jobset.x-k8s.io/v1alpha2, as JobSet's own webhook and
// schema set them).
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

// CREATE: sets every default.
extern const Mutator jobset_defaults;

// UPDATE: puts back a default that the old object has and the new one leaves out. The
// policies and templates cannot change, so without this the very manifest that made a
// JobSet is refused when it is applied a second time from the client's side.
extern const Mutator jobset_keep_defaults;

}  // namespace muster::mutators
