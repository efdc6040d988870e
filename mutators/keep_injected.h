#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

// Keeps what an admission has added to the pods of a running job: labels, annotations, node
// selectors and tolerations.
//
// `kubectl apply` of the original manifest of a JobSet sends its templates without these additions, because
// spec.replicatedJobs is one atomic list. The templates of a running job are immutable, so the unchanged manifest would
// be rejected. The additions are restored if the template is the stored one without them; the rules handle any other
// change.
extern const Mutator keep_injected;

}  // namespace muster::mutators
