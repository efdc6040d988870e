#include "scheduler/eligibility.h"

#include <algorithm>
#include <utility>

#include "scheduler/queue_readiness.h"

namespace muster::scheduler {
namespace {

// Until the Workload's reconciler has reset them after the eviction, quota would be reserved for nothing (KEP-993).
bool has_failed_checks(const Workload& workload) {
  return std::any_of(
      workload.status.admission_checks.begin(), workload.status.admission_checks.end(),
      [](const AdmissionCheckState& check) { return check.state == kCheckRetry || check.state == kCheckRejected; });
}

}  // namespace

// The rules are those of the ClusterQueue's reconciler, so its condition Active and the scheduler always agree.
std::optional<InactiveQueue> why_inactive(const SchedulerState& state, const std::string& cluster_queue) {
  const auto known = state.queues.find(cluster_queue);
  const QueueState* queue = known == state.queues.end() ? nullptr : known->second.get();
  if (queue == nullptr || queue->object == nullptr)
    return InactiveQueue{"NotFound", "ClusterQueue " + cluster_queue + " does not exist"};
  QueueReadiness readiness =
      readiness_of(*queue->object, {.has_flavor =
                                        [&](const std::string& flavor) {
                                          const std::optional<FlavorId> id = state.names.find_flavor(flavor);
                                          return id && state.flavor(*id) != nullptr;
                                        },
                                    .check =
                                        [&](const std::string& name) {
                                          const auto check = state.checks.find(name);
                                          if (check == state.checks.end()) return CheckPresence::kMissing;
                                          return check->second ? CheckPresence::kActive : CheckPresence::kInactive;
                                        },
                                    .in_cohort_cycle = state.ledger.root(queue->node) == kNoNode});
  if (readiness.ready) return std::nullopt;
  return InactiveQueue{std::move(readiness.reason), std::move(readiness.message)};
}

// A namespace that is not known yet matches no selector: its Workloads are evaluated again when it is.
bool namespace_matches(const SchedulerState& state, const WorkloadState& workload) {
  const auto labels = state.namespaces.find(workload.object->meta.ns);
  return labels != state.namespaces.end() && workload.queue->object->namespace_selector.matches(labels->second);
}

std::optional<Invalid> why_invalid(const SchedulerState& state, const WorkloadState& workload) {
  if (has_failed_checks(*workload.object))
    return Invalid{PendingReason::kPendingEvaluation, "The workload has failed admission checks", false};
  if (!namespace_matches(state, workload))
    return Invalid{PendingReason::kMisconfigured, "workload namespace doesn't match ClusterQueue selector", true};
  // A Workload that muster cannot stop is never admitted, so it must not block a StrictFIFO queue.
  if (!workload.misconfigured.empty())
    return Invalid{PendingReason::kMisconfigured, workload.misconfigured, !workload.can_be_stopped};
  return std::nullopt;
}

// False while its queue is stopped or broken: then the queue says why it waits.
bool waits(const SchedulerState& state, const std::string& ns, const std::string& name) {
  const WorkloadState* workload = state.find_workload(ns, name);
  return workload != nullptr && workload->in_queue() && workload->queue->active;
}

QueuePosition position_of(const SchedulerState& state, const std::string& ns, const std::string& name) {
  const WorkloadState* workload = state.find_workload(ns, name);
  if (workload == nullptr || !workload->in_queue()) return QueuePosition::kNowhere;
  return workload->queue->pending.competes(*workload) ? QueuePosition::kActive : QueuePosition::kInadmissible;
}

}  // namespace muster::scheduler
