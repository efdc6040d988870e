// What GET /explain asks of muster's other parts: the API server about rights, the engine
// about reasons.
#pragma once

#include "commands/engine_loop.h"
#include "kube/authorizer.h"
#include "server/explain_route.h"

namespace muster {

// In the words of the servers.
AuthDecision decide_access(kube::Authorizer& authorizer, std::string_view token, const kube::AccessQuestion& question);

// `authorizer`, `loop` and `clock` must outlive it.
Explainer make_explainer(kube::Authorizer& authorizer, EngineLoop& loop, ReconcilerSettings settings,
                         const Clock& clock);

}  // namespace muster
