#pragma once

#include "mutators/mutator.h"

namespace muster {

// Keeps what an admission has added to the pods of a running job: labels, annotations, node
// selectors and tolerations.
//
// `kubectl apply` of the manifest that a JobSet was made from sends its templates as they are
// written, without these additions, because spec.replicatedJobs is one atomic list. The templates of
// a running job are immutable, so the unchanged manifest would be rejected. The additions are put
// back where the template is the stored one without them; any other change is left to the rules.
extern const Mutator keep_injected;

}  // namespace muster
