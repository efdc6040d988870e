#include "commands/explain/explain_local.h"

#include <algorithm>

#include "commands/kubectl/local_reading.h"
#include "explain/explain.h"

namespace muster::commands {
namespace {

// What its Workload says is known all the same.
void add_what_is_written(ExplainReply& reply) {
  reply.forget_changes();
  reply.change = {
      "Ask muster itself, which needs permission to use its Service (docs/explain.md), or a person who can "
      "list the kinds that are named above."};
  for (const ExplainedMoment& moment : reply.timeline) {
    if (moment.what.starts_with("Waits (")) reply.because.push_back("Its Workload says: " + moment.what + ".");
  }
}

}  // namespace

Result<ExplainReply> explain_locally(kube::KubeApi& api, const ObjectKey& key, const ReconcilerSettings& settings,
                                     const Clock& clock) {
  LocalReading reading(settings);
  const auto wanted = [](const ResourceType&) { return true; };
  if (auto read = reading.read(api, *key.type, key.ns, wanted, clock.now()); !read) return fail(read.error().message);
  const engine::Engine& engine = reading.engine();
  const explain::Unseen unseen{reading.missing(), reading.partial().contains(kWorkloads.id())};
  ExplainReply reply = explain::explain(
      key, {engine.state(), engine.decisions(), settings, clock.now(), engine.check_controllers()}, false, unseen);
  if (reply.says(ExplainReason::kUnknown)) add_what_is_written(reply);
  const bool has_place = std::find(reply.notes.begin(), reply.notes.end(), explain::kPlaceUnknown) == reply.notes.end();
  // Not the notes of a follower of muster.
  reply.notes = reading.notes();
  if (!has_place) reply.notes.emplace_back(explain::kPlaceUnknown);
  return reply;
}

}  // namespace muster::commands
