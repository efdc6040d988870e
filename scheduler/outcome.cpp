#include "scheduler/outcome.h"

#include <algorithm>

#include "api/requests.h"
#include "api/workload.h"
#include "scheduler/capacity/further_capacity.h"

namespace muster::scheduler {
namespace {

std::string amount_text(const QuotaIdTable& names, ResourceId resource, int64_t amount) {
  return to_quantity(names.resource_name(resource), amount).text();
}

// Kueue's sentences (pkg/scheduler/flavorassigner), which users and tools know. Only kFailed is muster's (KEP-2560).
std::string to_text(const QuotaIdTable& names, const FlavorRejection& obstacle) {
  using Kind = FlavorRejection::Kind;
  const std::string& resource = names.resource_name(obstacle.resource);
  // These two are about all flavors, so the id of a flavor is not set.
  if (obstacle.kind == Kind::kNotCovered) return "resource " + resource + " unavailable in ClusterQueue";
  if (obstacle.kind == Kind::kNoFlavor) return "no flavor assigned, and so no topology";
  const std::string& flavor = names.flavor_name(obstacle.flavor);
  const auto text = [&](int64_t amount) { return amount_text(names, obstacle.resource, amount); };
  switch (obstacle.kind) {
    case Kind::kFlavorMissing:
      return "flavor " + flavor + " not found";
    case Kind::kTaint:
      return "untolerated taint " + obstacle.detail + " in flavor " + flavor;
    case Kind::kAffinity:
      return "flavor " + flavor + " doesn't match node affinity";
    case Kind::kFailed:
      return "flavor " + flavor + " has failed for the workload and is not tried again";
    case Kind::kNoTopology:
      return "Flavor \"" + flavor + "\" does not support TopologyAwareScheduling";
    case Kind::kNoNodes:
      return "flavor " + flavor + " has the annotation muster.batch/fit-on-nodes, and muster does not watch nodes";
    case Kind::kExceedsMax:
      return "insufficient quota for " + resource + " in flavor " + flavor +
             ", previously considered podsets requests (" + text(obstacle.earlier) + ") + current podset request (" +
             text(obstacle.requested) + ") > maximum capacity (" + text(obstacle.limit) + ")";
    case Kind::kNoneUnused: {
      const int64_t wanted = saturating_add(obstacle.earlier, obstacle.requested);
      return "insufficient unused quota for " + resource + " in flavor " + flavor + ", " +
             text(saturating_subtract(wanted, obstacle.limit)) + " more needed";
    }
    case Kind::kShortage:
      return obstacle.shortage->message;
    // kPinned: the flavors were nominated with the quota of the start of the cycle. When the turn of the Workload
    // comes, only these are tried again, as in Kueue.
    default:
      return "flavor " + flavor + " is not the one nominated for " + resource + " in this cycle";
  }
}

}  // namespace

// Names of the recorded vectors, not of the API.
std::string_view to_text(AttemptResult outcome) {
  switch (outcome) {
    case AttemptResult::kNoFit:
      return "noFit";
    case AttemptResult::kPreemptNoCandidates:
      return "preemptNoCandidates";
    case AttemptResult::kPreempting:
      return "preempting";
    case AttemptResult::kSkipped:
      return "skipped";
    case AttemptResult::kDeferredFit:
      return "deferredFit";
    case AttemptResult::kAwaitingReady:
      return "awaitingReady";
    case AttemptResult::kInvalid:
      return "invalid";
  }
  return "";
}

std::string_view to_text(QueuePosition requeued) {
  switch (requeued) {
    case QueuePosition::kActive:
      return "active";
    case QueuePosition::kInadmissible:
      return "inadmissible";
    case QueuePosition::kNowhere:
      return "none";
  }
  return "";
}

// Reasons of the condition QuotaReserved=False. kNone: Kueue has no reason more exact than "Pending" for it.
std::string_view to_text(PendingReason reason) {
  switch (reason) {
    case PendingReason::kNone:
      return "Pending";
    case PendingReason::kWaitingForQuota:
      return kWaitingForQuotaReason;
    case PendingReason::kWaitingForProtectedWorkloads:
      return kWaitingForProtectedWorkloadsReason;
    case PendingReason::kExceedsMaxQuota:
      return kExceedsMaxQuotaReason;
    case PendingReason::kNoMatchingFlavor:
      return kNoMatchingFlavorReason;
    case PendingReason::kWaitingForPreemptedWorkloads:
      return kWaitingForPreemptedWorkloadsReason;
    case PendingReason::kWaitingForPodsReady:
      return kWaitingForPodsReadyReason;
    case PendingReason::kMisconfigured:
      return kMisconfiguredReason;
    case PendingReason::kPendingEvaluation:
      return kPendingEvaluationReason;
  }
  return "";
}

// The message of the condition. A sentence for each pod set that has no flavors; results that are not about flavors
// have another sentence.
std::string_view change_that_helps(const LastAttempt& refusal) {
  for (const PodSetObstacles& obstacles : refusal.pod_sets) {
    for (const FlavorRejection& obstacle : obstacles.obstacles) {
      if (obstacle.shortage != nullptr) return obstacle.shortage->change;
    }
  }
  return {};
}

std::string to_message(const QuotaIdTable& names, const Workload& workload, const LastAttempt& refusal) {
  // These come first: such an attempt has evaluated no flavor, or its obstacles are of an earlier attempt.
  if (refusal.outcome == AttemptResult::kInvalid) return refusal.invalid;
  if (refusal.outcome == AttemptResult::kAwaitingReady)
    return "Workload fits, and waits until all pods of the admitted workload " + refusal.awaited + " are ready";
  if (refusal.outcome == AttemptResult::kSkipped) return "Workload no longer fits after processing another workload";
  if (refusal.outcome == AttemptResult::kDeferredFit)
    return "Workload will fit once the preemption of other workloads is through";
  std::string message;
  for (const PodSetObstacles& pod_set : refusal.pod_sets) {
    std::vector<std::string> sentences;
    for (const FlavorRejection& obstacle : pod_set.obstacles) sentences.push_back(to_text(names, obstacle));
    // As in Kueue. The order in which flavors are tried changes from cycle to cycle (KEP-582), and a message that
    // changes is a write.
    std::sort(sentences.begin(), sentences.end());
    if (!message.empty()) message += "; ";
    message += "couldn't assign flavors to pod set " + workload.pod_sets[pod_set.pod_set].name + ": ";
    for (size_t i = 0; i < sentences.size(); ++i) message += (i > 0 ? ", " : "") + sentences[i];
  }
  if (refusal.reason == PendingReason::kWaitingForProtectedWorkloads)
    message += ". The workloads that it could preempt are protected, the first of them until " +
               format_rfc3339(refusal.protected_until_stamp);
  if (refusal.outcome == AttemptResult::kPreempting)
    message += ". Pending the preemption of " + std::to_string(refusal.victims) + " workload(s)";
  return message;
}

}  // namespace muster::scheduler
