#include "commands/explain/explain_local.h"

#include <algorithm>
#include <set>

#include "api/workload_conditions.h"
#include "commands/kubectl/local_reading.h"
#include "explain/explain.h"

namespace muster::commands {
namespace {

// Whether a reason rests on a kind that could not be read.
bool is_guess(const std::string& reason, const std::set<std::string_view>& missing) {
  struct Ground {
    const ResourceType* type;
    std::set<std::string_view> reasons;
  };
  static const Ground kGrounds[] = {
      {&kLocalQueues, {"LocalQueueMissing"}},
      {&kClusterQueues, {"ClusterQueueMissing"}},
      {&kResourceFlavors, {"ClusterQueueInactive", kNoMatchingFlavorReason}},
      {&kAdmissionChecks, {"ClusterQueueInactive"}},
      {&kCohorts, {kExceedsMaxQuotaReason}},
      {&kNamespaces, {"NamespaceNotAdmitted", "NamespaceNotSelected"}},
      {&kWorkloadPriorityClasses, {"PriorityClassMissing"}},
      {&kPriorityClasses, {"PriorityClassMissing"}},
      {&kJobs, {"JobsMissing"}},
      {&kWorkloads, {"WorkloadNotCreated", "PrebuiltWorkloadMissing"}},
  };
  return std::any_of(std::begin(kGrounds), std::end(kGrounds), [&](const Ground& ground) {
    return missing.contains(ground.type->plural) && ground.reasons.contains(reason);
  });
}

void admit_ignorance(ExplainReply& reply) {
  reply.say("Unknown", reply.subject() + " is pending; you do not have permission to see why.");
  reply.forget_changes();
  reply.change = {
      "Ask muster itself, which needs permission to use its Service (docs/explain.md), or a person who can "
      "list the kinds that are named above."};
  reply.because.clear();
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
  ExplainReply reply = explain::explain(key, {engine.state(), engine.decisions(), settings, clock.now()}, false);
  if (is_guess(reply.reason, reading.missing())) admit_ignorance(reply);
  reply.notes = reading.notes();
  return reply;
}

}  // namespace muster::commands
