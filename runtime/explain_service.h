// What GET /explain asks of muster's other parts: the API server about rights, the engine
// about reasons.
#pragma once

#include "api/start_estimate.h"
#include "kube/authorizer.h"
#include "runtime/engine_loop.h"
#include "server/explain_route.h"
#include "server/reader_answers.h"

namespace muster::runtime {

// In the words of the servers.
server::AuthDecision decide_access(kube::Authorizer& authorizer, std::string_view token,
                                   const kube::AccessQuestion& question);
kube::AccessQuestion question_of(const server::ListAccess& access);
kube::AccessQuestion question_of(std::string_view verb, const ObjectKey& object);

// `authorizer` and `clock` must outlive it. `loop` yields null, and `settings` is not called,
// before muster has begun to decide. `notes` are added to every answer: how old its data are. `starts`: when pending
// Workloads are estimated to start; it can yield null, or be empty. `history`: what was recorded of an object, instead
// of what its conditions still tell; it can yield nothing, or be empty. `alarm`: see Leadership.
server::Explainer make_explainer(kube::Authorizer& authorizer, std::function<EngineLoop*()> loop,
                                 std::function<ReconcilerSettings()> settings,
                                 std::function<std::vector<std::string>()> notes,
                                 std::function<std::shared_ptr<const StartEstimates>()> starts,
                                 std::function<std::vector<ExplainedMoment>(const ObjectKey& key)> history,
                                 std::function<std::string()> alarm, const Clock& clock);

}  // namespace muster::runtime
