#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

// Keeps a queued job suspended when an UPDATE drops spec.suspend, or the field that its kind has for it, without a
// user's intent.
//
// A change from client-side to server-side apply does that: kubectl moves the fields of the old
// manager, and with them the suspend that muster set, to the new one and applies the unchanged
// manifest, which does not have suspend; so the API server removes it, and its default starts
// the job. Then no manager in metadata.managedFields owns the field. A user who starts a job
// on purpose, by patch, replace or apply, owns it; the rules of the validating webhook handle
// that.
extern const Mutator keep_suspended;

}  // namespace muster::mutators
