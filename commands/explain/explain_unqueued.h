// `muster explain` of a kind that muster does not queue (api/unqueued_kinds.h): muster itself knows
// nothing of such objects, so the answer is found in the object, as far as the user may read it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/explained.h"
#include "api/unqueued_kinds.h"
#include "kube/api.h"

namespace muster::commands {

// Pure. `object` is null when it could not be read; `why_not` says why then.
ExplainReply explain_unqueued(const UnqueuedKind& kind, const std::string& ns, const std::string& name,
                              const nlohmann::json& object, const std::string& why_not);

// Reads the object with the credentials of `api`. What keeps it from being read is a note of the
// answer, but for an object that is not there (`found`).
ExplainReply ask_about_unqueued(kube::KubeApi& api, const UnqueuedKind& kind, const std::string& ns,
                                const std::string& name);

}  // namespace muster::commands
