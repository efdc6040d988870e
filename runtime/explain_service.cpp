#include "runtime/explain_service.h"

#include "api/workload.h"
#include "explain/explain.h"
#include "explain/history/workload_moments.h"

namespace muster::runtime {
namespace {

// The Workload that the answer is about; empty: none.
std::string workload_of(const ExplainReply& explained) {
  for (const ExplainedFact& fact : explained.facts) {
    if (fact.name == "Workload") return fact.value;
  }
  return explained.kind == kWorkloads.kind ? explained.name : "";
}

// Of a Workload that still waits: an estimate is some seconds old.
void add_start(const state::ClusterState& state, const StartEstimates* starts, ExplainReply& explained) {
  if (starts == nullptr) return;
  const std::string name = workload_of(explained);
  const Workload* workload = name.empty() ? nullptr : state.find<Workload>(explained.ns, name);
  if (workload == nullptr || workload->has_quota_reserved() || workload->finished() || !workload->active) return;
  if (const StartEstimate* start = starts->find(explained.ns, name))
    explained.add_fact("Estimated start", to_sentence(*start, explained.at));
}

}  // namespace

server::AuthDecision decide_access(kube::Authorizer& authorizer, std::string_view token,
                                   const kube::AccessQuestion& question) {
  if (token.empty()) return server::AuthDecision::kUnauthenticated;
  const auto decision = authorizer.decide(std::string(token), question);
  if (!decision)
    return decision.error().reason == kube::kUnguardedReason ? server::AuthDecision::kUnproven
                                                             : server::AuthDecision::kUnavailable;
  switch (*decision) {
    case kube::AccessDecision::kAllow:
      return server::AuthDecision::kAllowed;
    case kube::AccessDecision::kUnauthenticated:
      return server::AuthDecision::kUnauthenticated;
    case kube::AccessDecision::kForbidden:
      return server::AuthDecision::kForbidden;
  }
  return server::AuthDecision::kUnavailable;
}

kube::AccessQuestion question_of(const server::ListAccess& access) {
  return {.verb = access.verb,
          .group = std::string(access.type->group),
          .resource = std::string(access.type->plural),
          .ns = access.ns,
          .name = access.name,
          .subresource = access.subresource};
}

kube::AccessQuestion question_of(std::string_view verb, const ObjectKey& object) {
  return {.verb = std::string(verb),
          .group = std::string(object.type->group),
          .resource = std::string(object.type->plural),
          .ns = object.ns,
          .name = object.name};
}

server::Explainer make_explainer(kube::Authorizer& authorizer, std::function<EngineLoop*()> loop,
                                 std::function<ReconcilerSettings()> settings,
                                 std::function<std::vector<std::string>()> notes,
                                 std::function<std::shared_ptr<const StartEstimates>()> starts,
                                 std::function<std::vector<ExplainedMoment>(const ObjectKey& key)> history,
                                 std::function<std::string()> alarm, const Clock& clock) {
  server::Explainer explainer;
  explainer.authorize = [&authorizer](std::string_view token, std::string_view verb, const ObjectKey& object) {
    return decide_access(authorizer, token, question_of(verb, object));
  };
  explainer.ask = [loop = std::move(loop), settings = std::move(settings), notes = std::move(notes),
                   starts = std::move(starts), history = std::move(history), alarm = std::move(alarm),
                   &clock](const ObjectKey& key) {
    std::optional<ExplainReply> explained;
    EngineLoop* deciding = loop();
    if (deciding == nullptr) return explained;
    const auto estimates = starts ? starts() : nullptr;
    deciding->ask([&, used = settings()](const engine::Engine& engine) {
      explained = explain::explain(
          key, {engine.state(), engine.decisions(), used, clock.now(), engine.check_controllers()}, engine.leads());
      add_start(engine.state(), estimates.get(), *explained);
    });
    if (!explained) return explained;
    if (history) {
      auto recorded = history(key);
      // A group of pods is no controller of its Workload.
      if (const std::string workload = workload_of(*explained); recorded.empty() && !workload.empty())
        recorded = history({&kWorkloads, explained->ns, workload});
      if (!recorded.empty()) explained->timeline = std::move(recorded);
      explain::say_deleted(*explained);
    }
    explained->alarm = alarm();
    for (std::string& note : notes()) explained->notes.push_back(std::move(note));
    return explained;
  };
  return explainer;
}

}  // namespace muster::runtime
