// `muster explain` of an object that muster itself knows nothing of: a kind whose parts are queued (a CronJob's Jobs, a
// Deployment's pods), or an object in no queue. The answer is found in the object and in what it has made, as far as
// the user can read them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "api/explained.h"
#include "jobs/naming/named_kind.h"
#include "kube/api.h"

namespace muster::commands {

// Pure. `object` is null when it could not be read; `why_not` says why then. `parts`: the Jobs or pods that it has
// made, an array.
ExplainReply explain_unqueued(const jobs::NamedKind& kind, const std::string& ns, const std::string& name,
                              const nlohmann::json& object, const nlohmann::json& parts, const std::string& why_not);

// Reads the object and its parts with the credentials of `api`. What keeps them from being read is a note of the
// answer, but for an object that is not there (`found`).
ExplainReply ask_about_unqueued(kube::KubeApi& api, const jobs::NamedKind& kind, const std::string& ns,
                                const std::string& name);

}  // namespace muster::commands
