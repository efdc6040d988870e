#include "scheduler/explanation.h"

#include <algorithm>

#include "scheduler/scheduler.h"

namespace muster {
namespace {

std::string text(const SchedulerState& state, ResourceId resource, int64_t amount) {
  return to_quantity(state.names.resource_name(resource), amount).text();
}

// One flavor's part in the last evaluation, with what is free now.
FlavorExplanation explain_flavor(const SchedulerState& state, const QueueState& queue, const std::string& pod_set,
                                 const Obstacle& obstacle) {
  using Kind = Obstacle::Kind;
  FlavorExplanation made{
      .pod_set = pod_set, .flavor = state.names.flavor_name(obstacle.flavor), .resource = {}, .verdict = {}};
  if (obstacle.kind == Kind::kTaint) made.verdict = "the pods do not tolerate its taint " + obstacle.detail;
  if (obstacle.kind == Kind::kAffinity) made.verdict = "node selector or affinity of the pods exclude its labels";
  if (obstacle.kind == Kind::kFlavorMissing) made.verdict = "there is no such ResourceFlavor";
  if (obstacle.kind != Kind::kExceedsMax && obstacle.kind != Kind::kNoneUnused) return made;
  made.resource = state.names.resource_name(obstacle.resource);
  made.requested = saturating_add(obstacle.earlier, obstacle.requested);
  made.free = state.ledger.available(queue.node, obstacle.quota);
  made.nominal = state.ledger.nominal(queue.node, obstacle.quota);
  made.most = state.ledger.potential(queue.node, obstacle.quota);
  const auto amount = [&](int64_t value) { return text(state, obstacle.resource, value); };
  if (made.requested > made.most) {
    made.verdict = "asks for " + amount(made.requested) + ", more than the " + amount(made.most) +
                   " that the ClusterQueue could ever have";
  } else if (made.requested > made.free) {
    made.verdict = "asks for " + amount(made.requested) + ", " + amount(made.free) + " are free";
  } else {
    made.verdict = "has room now, and will be looked at again";
  }
  return made;
}

// What would change it, by the reason that decides.
std::string outlook_of(const Refusal& refusal) {
  switch (refusal.reason) {
    case PendingReason::kWaitingForPreemptedWorkloads:
      return "Starts when the Workloads that are being evicted for it, or for another, have stopped.";
    case PendingReason::kWaitingForPodsReady:
      return "Starts when the pods of " + refusal.awaited +
             " are ready, or it has given its quota back: " + "waitForPodsReady.blockAdmission lets one in at a time.";
    case PendingReason::kExceedsMaxQuota:
      return "Does not fit however long it waits: ask for less, or raise the quota or the borrowing limit.";
    case PendingReason::kNoMatchingFlavor:
      return "No flavor of the ClusterQueue suits its pods: change their tolerations, node selector or affinity, or "
             "the flavors.";
    case PendingReason::kMisconfigured:
      return "Is refused whatever the quota: correct the Workload, or the ClusterQueue's namespaceSelector.";
    case PendingReason::kWaitingForQuota:
      return refusal.outcome == Assessment::kPreemptNoCandidates
                 ? "Starts when quota is released; nobody may be evicted for it by the preemption policy."
                 : "Starts when quota is released.";
    default:
      return "Is looked at again when its admission checks change.";
  }
}

}  // namespace

std::optional<Explanation> Scheduler::explain(const std::string& ns, const std::string& name) const {
  constexpr size_t kMostAhead = 10;
  const WorkloadState* workload = find(ns, name);
  if (workload == nullptr || !workload->in_queue()) return std::nullopt;
  const QueueState& queue = *workload->queue;
  Explanation explanation{.cluster_queue = queue.name, .reason = {}, .message = {}, .outlook = {}, .flavors = {}};

  // One that was parked with its shape has the answer that the first of the shape got.
  const Refusal* refusal = workload->refusal.get();
  bool found = false;
  for (const WorkloadState* other : queue.pending.list()) {
    found |= other == workload;
    if (!found) ++explanation.position;
    if (!found && explanation.ahead.size() < kMostAhead)
      explanation.ahead.push_back(other->object->meta.ns + "/" + other->object->meta.name);
    const bool parked_with = other->shape == workload->shape && !queue.pending.competes(*workload);
    if (refusal == nullptr && parked_with) refusal = other->refusal.get();
  }
  if (const std::optional<Inactive> inactive = why_inactive(queue.name)) {
    explanation.reason = "Suspended";
    explanation.message = "ClusterQueue " + queue.name + " takes no Workloads: " + inactive->message;
    explanation.outlook = "Is looked at when the ClusterQueue is active again.";
    return explanation;
  }
  if (refusal == nullptr) {
    explanation.message = "Has not been looked at yet: " + std::to_string(explanation.position) + " are ahead of it.";
    explanation.outlook = "Is looked at when it is the first of its ClusterQueue.";
    return explanation;
  }
  explanation.reason = to_text(refusal->reason);
  explanation.message = to_message(state_.names, *workload->object, *refusal);
  explanation.outlook = outlook_of(*refusal);
  for (const PodSetObstacles& pod_set : refusal->pod_sets) {
    for (const Obstacle& obstacle : pod_set.obstacles) {
      if (obstacle.kind == Obstacle::Kind::kNotCovered || obstacle.kind == Obstacle::Kind::kPinned) continue;
      explanation.flavors.push_back(
          explain_flavor(state_, queue, workload->object->pod_sets[pod_set.pod_set].name, obstacle));
    }
  }
  return explanation;
}

}  // namespace muster
