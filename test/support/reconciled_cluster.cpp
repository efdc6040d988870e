#include "test/support/reconciled_cluster.h"

#include <algorithm>
#include <utility>

namespace muster::test {

ReconciledCluster::ReconciledCluster(Reconcilers given, ReconcilerSettings its, world::ApiServerOptions options)
    : ObjectServer(options),
      reconcilers(std::move(given)),
      settings(std::move(its)),
      state(settings.queues),
      decisions(settings.queues) {
  ReconciledCluster::shown(kNamespaces, get(kNamespaces, kNs));
}

void ReconciledCluster::shown(const ResourceType& type, const json& object) {
  const TypedObject typed = read_object(type, object);
  const auto change = state.put_watched(typed);
  if (!change) return;
  decisions.put(*change->after, state, now());
  if (change->before) enqueue_requests(*change->before);
  enqueue_requests(typed);
}

void ReconciledCluster::gone(const ResourceType& type, const json& last) {
  const auto removed = state.remove(key_of(read_object(type, last)));
  if (!removed) return;
  decisions.remove(*removed, state, now());
  enqueue_requests(*removed);
}

void ReconciledCluster::enqueue_requests(const TypedObject& object) {
  for (const reconcilers::Reconciler* reconciler : reconcilers) reconciler->requests_for(state, object, concerned);
}

reconcilers::Plan ReconciledCluster::reconcile(const ObjectKey& key) const {
  reconcilers::Plan plan;
  reconciled_ = key;
  for (const reconcilers::Reconciler* reconciler : reconcilers) {
    if (!reconciler->handles(*key.type)) continue;
    reconcilers::Plan part = reconciler->reconcile(key, context());
    if (part.again_at) plan.wake_at(*part.again_at);
    std::move(part.writes.begin(), part.writes.end(), std::back_inserter(plan.writes));
    std::move(part.events.begin(), part.events.end(), std::back_inserter(plan.events));
  }
  return plan;
}

void ReconciledCluster::apply(const reconcilers::Write& write) {
  const world::Answer answer = carry_out(write);
  const bool taken =
      answer.outcome == reconcilers::WriteOutcome::kAlreadyExists || write.verb == reconcilers::Verb::kFindPods;
  CHECK_MESSAGE((answer.done() || taken), text(write), ": ", answer.message);
}

void ReconciledCluster::apply(const reconcilers::Plan& plan) {
  events.insert(events.end(), plan.events.begin(), plan.events.end());
  for (const reconcilers::Write& write : plan.writes) apply(write);
}

world::Answer ReconciledCluster::carry_out(const reconcilers::Write& write) {
  const ResourceType& type = *write.target.type;
  ++writes[std::string(type.plural) + (write.verb == reconcilers::Verb::kPatchStatus ? "/status" : "")];
  world::Answer answer = ObjectServer::carry_out(write);
  if (answer.outcome == reconcilers::WriteOutcome::kAlreadyExists &&
      state.find(type, write.target.ns, write.target.name) == nullptr)
    state.writes().note_name_conflict(write.target, now().monotonic + std::chrono::seconds(30));
  if (write.verb == reconcilers::Verb::kFindPods) {
    state.writes().pod_searches().note(reconciled_, write.target.name, answer.done(), now().monotonic);
    return answer;
  }
  if (!answer.done()) return answer;
  state.writes().pod_searches().forget_none(reconciled_);
  if (answer.object != nullptr)
    shown(type, *answer.object);
  else
    gone(type, {{"metadata", {{"namespace", write.target.ns}, {"name", write.target.name}}}});
  events.insert(events.end(), write.events.begin(), write.events.end());
  measurements.insert(measurements.end(), write.measurements.begin(), write.measurements.end());
  return answer;
}

reconcilers::Plan ReconciledCluster::carried_out(const ObjectKey& key) {
  reconcilers::Plan plan = reconcile(key);
  apply(plan);
  return plan;
}

Texts ReconciledCluster::settle(const ObjectKey& key) {
  Texts done;
  for (int plans = 0; plans < 30; ++plans) {
    const Texts more = step(key);
    if (more.empty()) return done;
    done.insert(done.end(), more.begin(), more.end());
  }
  FAIL_CHECK("the reconcilers do not come to rest: ", to_text(key));
  return done;
}

void ReconciledCluster::settle_concerned() {
  for (int rounds = 0; rounds < 200 && !concerned.empty(); ++rounds) {
    for (const ObjectKey& key : std::exchange(concerned, {})) step(key);
  }
  CHECK(concerned.empty());
}

Texts ReconciledCluster::event_reasons() const {
  Texts reasons;
  for (const ObjectEvent& event : events) reasons.push_back(event.reason);
  return reasons;
}

std::string ReconciledCluster::note_of(const std::string& reason) const {
  const auto found =
      std::find_if(events.begin(), events.end(), [&](const auto& event) { return event.reason == reason; });
  return found == events.end() ? "" : found->type + ": " + found->note;
}

int64_t ReconciledCluster::count_events(const std::string& reason) const {
  return std::count_if(events.begin(), events.end(), [&](const auto& event) { return event.reason == reason; });
}

}  // namespace muster::test
