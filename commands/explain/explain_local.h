// The answer of `muster explain` without muster: what the user can list is read once, an
// engine that never leads takes it in, and the same function finds the reason in it.
#pragma once

#include "api/explained.h"
#include "base/clock.h"
#include "base/result.h"
#include "kinds/typed_object.h"
#include "kube/api.h"
#include "reconcilers/reconciler.h"

namespace muster::commands {

// What the user cannot list is named in the answer's notes; where it could have been the
// reason, the answer does not pretend to know. An error when the object's own kind and
// namespace cannot be read.
Result<ExplainReply> explain_locally(kube::KubeApi& api, const ObjectKey& key, const ReconcilerSettings& settings,
                                     const Clock& clock);

}  // namespace muster::commands
