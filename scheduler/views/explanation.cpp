#include "scheduler/views/explanation.h"

#include <algorithm>

#include "api/texts/unmet_requests.h"
#include "api/workload_conditions.h"
#include "scheduler/capacity/further_capacity.h"
#include "scheduler/eligibility.h"
#include "scheduler/flavor_assignment.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

std::string text(const SchedulerState& state, ResourceId resource, int64_t amount) {
  return to_quantity(state.names.resource_name(resource), amount).text();
}

// The requests of earlier pod sets for the same quota, from the last evaluation.
int64_t asked_before(const LastAttempt* refusal, uint32_t pod_set, FlavorId flavor, ResourceId resource) {
  if (refusal == nullptr) return 0;
  for (const PodSetObstacles& obstacles : refusal->pod_sets) {
    if (obstacles.pod_set != pod_set) continue;
    for (const FlavorRejection& obstacle : obstacles.obstacles) {
      if (obstacle.flavor == flavor && obstacle.resource == resource) return obstacle.earlier;
    }
  }
  return 0;
}

// What the last evaluation has found short on this flavor beside quota; null: nothing.
const Shortage* shortage_on(const LastAttempt* refusal, uint32_t pod_set, FlavorId flavor) {
  if (refusal == nullptr) return nullptr;
  for (const PodSetObstacles& obstacles : refusal->pod_sets) {
    if (obstacles.pod_set != pod_set) continue;
    for (const FlavorRejection& obstacle : obstacles.obstacles) {
      if (obstacle.flavor == flavor && obstacle.shortage != nullptr) return obstacle.shortage.get();
    }
  }
  return nullptr;
}

// For people who can change the pods or the flavors, so in other words than the condition's message, which is Kueue's.
std::string why_unsuitable(const FlavorRejection& obstacle) {
  if (obstacle.kind == FlavorRejection::Kind::kTaint) return "the pods do not tolerate its taint " + obstacle.detail;
  if (obstacle.kind == FlavorRejection::Kind::kFailed) return "it has failed for this Workload and is not tried again";
  if (obstacle.kind == FlavorRejection::Kind::kAffinity)
    return "node selector or affinity of the pods exclude its labels";
  if (obstacle.kind == FlavorRejection::Kind::kNoTopology) return std::string(kAsksForTopology);
  if (obstacle.kind == FlavorRejection::Kind::kNoNodes)
    return "it admits what fits on its nodes, and muster does not watch nodes (watchNodes)";
  return "the ResourceFlavor does not exist";
}

FlavorRow::Why why_of(FlavorRejection::Kind kind) {
  if (kind == FlavorRejection::Kind::kTaint) return FlavorRow::Why::kTaint;
  if (kind == FlavorRejection::Kind::kAffinity) return FlavorRow::Why::kAffinity;
  if (kind == FlavorRejection::Kind::kFailed) return FlavorRow::Why::kFailed;
  return FlavorRow::Why::kOther;
}

// Numbers of now, and not of the last evaluation: users compare them with what they see in the queues.
void compare(const SchedulerState& state, const QueueState& queue, FlavorId flavor, ResourceId resource,
             FlavorRow& row) {
  for (const QuotaId quota : state.ledger.quotas(queue.node)) {
    const auto [its_flavor, its_resource] = state.names.quota(quota);
    if (its_flavor != flavor || its_resource != resource) continue;
    row.free = state.ledger.available(queue.node, quota);
    row.nominal = state.ledger.nominal(queue.node, quota);
    row.most = state.ledger.potential(queue.node, quota);
  }
  const auto amount = [&](int64_t value) { return text(state, resource, value); };
  if (row.requested > row.most) {
    row.verdict = "asks for " + amount(row.requested) + ", more than the " + amount(row.most) +
                  " that the ClusterQueue can ever use";
  } else if (row.requested > row.free) {
    row.verdict = "asks for " + amount(row.requested) + ", " + amount(row.free) + " are free";
  } else {
    row.verdict = "has room";
  }
}

// The flavors that one pod set's request for one resource can get.
void add_rows(const SchedulerState& state, const WorkloadState& workload, const LastAttempt* refusal, uint32_t pod_set,
              ResourceAmount request, std::vector<FlavorRow>& rows) {
  const QueueState& queue = *workload.queue;
  const PodSet& object = workload.object->pod_sets[pod_set];
  FlavorRow row{.pod_set = object.name,
                .flavor = {},
                .resource = state.names.resource_name(request.resource),
                .requested = request.amount,
                .verdict = {}};
  const QueueGroup* group = queue.group_of(request.resource);
  // The setting quotaCheckStrategy says whether a resource without quota keeps a Workload out.
  if (group == nullptr) {
    if (state.settings.ignore_undeclared_resources) return;
    row.suitable = false;
    row.verdict = "the ClusterQueue has no quota for this resource";
    rows.push_back(std::move(row));
    return;
  }
  // All flavors, also those after the first one that fits: the reader asks what would change.
  for (const FlavorId flavor : group->flavors) {
    FlavorRow& made = rows.emplace_back(row);
    made.flavor = state.names.flavor_name(flavor);
    made.requested = saturating_add(request.amount, asked_before(refusal, pod_set, flavor, request.resource));
    compare(state, queue, flavor, request.resource, made);
    std::optional<FlavorRejection> obstacle = why_ineligible(state, flavor, object);
    if (!obstacle && workload.has_failed(flavor)) obstacle = FlavorRejection{.kind = FlavorRejection::Kind::kFailed};
    if (!obstacle) {
      if (const Shortage* shortage = shortage_on(refusal, pod_set, flavor)) {
        made.verdict += "; " + shortage->message;
        made.shortage = shortage->message;
      }
      continue;
    }
    made.suitable = false;
    made.verdict = why_unsuitable(*obstacle);
    made.why = why_of(obstacle->kind);
  }
}

std::vector<FlavorRow> explain_flavors(const SchedulerState& state, const WorkloadState& workload,
                                       const LastAttempt* refusal) {
  std::vector<FlavorRow> rows;
  for (uint32_t i = 0; i < workload.pod_sets.size(); ++i) {
    const PodSetState& pod_set = workload.pod_sets[i];
    for (const ResourceAmount& per_pod : pod_set.per_pod) {
      // The number of pods stands for it, as in the evaluation.
      if (workload.queue->covers_pods && per_pod.resource == state.pods) continue;
      const int64_t amount = saturating_multiply(per_pod.amount, pod_set.count);
      if (amount > 0) add_rows(state, workload, refusal, i, {per_pod.resource, amount}, rows);
    }
    if (workload.queue->covers_pods) add_rows(state, workload, refusal, i, {state.pods, pod_set.count}, rows);
  }
  return rows;
}

// The possible actions, by the dominant reason.
std::string outlook_of(const LastAttempt& refusal) {
  switch (refusal.reason) {
    case PendingReason::kWaitingForPreemptedWorkloads:
      return "Starts when the Workloads that are being evicted for it, or for another, have stopped.";
    case PendingReason::kWaitingForPodsReady:
      return "Starts when the pods of " + refusal.awaited + " are ready, or it has released its quota: " +
             "waitForPodsReady.blockAdmission admits one workload at a time.";
    case PendingReason::kExceedsMaxQuota:
      return "Waiting does not help: request less, or raise the quota or the borrowing limit.";
    case PendingReason::kNoMatchingFlavor:
      return "No flavor of the ClusterQueue suits its pods: change their tolerations, node selector or affinity, or "
             "the flavors.";
    case PendingReason::kMisconfigured:
      return "Is invalid regardless of quota: correct the Workload, or the ClusterQueue's namespaceSelector.";
    case PendingReason::kWaitingForProtectedWorkloads:
      return "Is evaluated again at " + format_rfc3339(refusal.protected_until_stamp) +
             ", when the first of the Workloads that it could preempt is not protected any longer, or when quota is "
             "released.";
    case PendingReason::kWaitingForQuota:
      return refusal.outcome == AttemptResult::kPreemptNoCandidates
                 ? "Starts when quota is released; the preemption policy does not allow eviction of any workload for "
                   "it."
                 : "Starts when quota is released.";
    default:
      return "Is evaluated again when its admission checks change.";
  }
}

// Where a further capacity is short, also what would have to change there.
std::string full_outlook_of(const LastAttempt& refusal) {
  using Kind = FlavorRejection::Kind;
  if (refusal.reason != PendingReason::kWaitingForQuota && refusal.reason != PendingReason::kExceedsMaxQuota)
    return outlook_of(refusal);
  bool lacks_quota = false;
  std::string change;
  for (const PodSetObstacles& obstacles : refusal.pod_sets) {
    for (const FlavorRejection& obstacle : obstacles.obstacles) {
      lacks_quota |= obstacle.kind == Kind::kNoneUnused || obstacle.kind == Kind::kExceedsMax;
      if (obstacle.kind == Kind::kShortage && change.empty()) change = obstacle.shortage->change;
    }
  }
  if (change.empty()) return outlook_of(refusal);
  return lacks_quota ? outlook_of(refusal) + " " + change : change;
}

}  // namespace

std::optional<SchedulerView> explain_pending(const SchedulerState& state, const std::string& ns,
                                             const std::string& name) {
  // Thousands can be ahead; the count says how many, and users look at the first ones.
  constexpr size_t kMostAhead = 10;
  const WorkloadState* workload = state.find_workload(ns, name);
  if (workload == nullptr || !workload->in_queue()) return std::nullopt;
  const QueueState& queue = *workload->queue;
  SchedulerView explanation{.cluster_queue = queue.name, .reason = {}, .message = {}, .outlook = {}, .flavors = {}};
  const PendingQueue::Ahead ahead = queue.pending.ahead_of(*workload, kMostAhead);
  explanation.position = ahead.count;
  for (const WorkloadState* other : ahead.first)
    explanation.ahead.push_back(other->object->meta.ns + "/" + other->object->meta.name);
  if (const auto inactive = why_inactive(state, queue.name)) {
    // No list of flavors: whatever is free there, the queue admits nothing.
    explanation.reason = kSuspendedReason;
    explanation.message = "ClusterQueue " + queue.name + " does not admit workloads: " + inactive->message;
    explanation.outlook = "Is evaluated when the ClusterQueue is active again.";
    return explanation;
  }
  explanation.strict = queue.strict();

  // A Workload that was parked with its shape has the result of the first Workload of the shape.
  const LastAttempt* refusal = workload->waiting().refusal.get();
  if (refusal == nullptr && !queue.pending.competes(*workload)) {
    if (const WorkloadState* first = queue.pending.evaluated(workload->shape)) refusal = first->waiting().refusal.get();
  }
  explanation.flavors = explain_flavors(state, *workload, refusal);
  // The object as it is now comes before the last evaluation, which can be older than a change.
  if (const std::optional<Invalid> invalid = why_invalid(state, *workload)) {
    explanation.reason = to_text(invalid->reason);
    explanation.message = invalid->message;
    explanation.outlook = outlook_of({.reason = invalid->reason});
  } else if (refusal == nullptr) {
    explanation.message = "Has not been evaluated yet: " + std::to_string(explanation.position) + " are ahead of it.";
    explanation.outlook = "Is evaluated when it is the first of its ClusterQueue.";
  } else {
    explanation.reason = to_text(refusal->reason);
    explanation.message = to_message(state.names, *workload->object, *refusal);
    explanation.outlook = full_outlook_of(*refusal);
  }
  return explanation;
}

}  // namespace muster::scheduler
