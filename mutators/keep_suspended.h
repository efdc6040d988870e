#pragma once

#include "mutators/mutator.h"

namespace muster {

// Keeps a queued job suspended when an UPDATE drops spec.suspend without anybody
// having said so.
//
// Going over from client-side to server-side apply does that: kubectl hands the
// fields of the old manager, and with them the suspend that muster set, to the new
// one and applies the unchanged manifest, which does not name suspend; so the API
// server removes it, and its default starts the job. Then nobody in
// metadata.managedFields owns spec.suspend. Whoever starts a job on purpose, by patch,
// replace or apply, does own it; that is left to the rules of the validating webhook.
extern const Mutator keep_suspended;

}  // namespace muster
