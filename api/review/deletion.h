// What the deletion of an object needs, and what stays protected until the object is gone: a user's finalizer can keep
// it for any time. Pure.
#pragma once

#include "api/review/admission_review.h"

namespace muster {

// An UPDATE of an object that is being deleted which changes finalizers and annotations of others at most: removing a
// finalizer must never depend on a rule. Labels, owners, muster's and Kueue's annotations, and all that is not metadata
// are as before; of the status only where the request writes it.
bool is_step_of_deletion(const AdmissionRequest& request);

}  // namespace muster
