#include "scheduler/preemption/protection.h"

#include <algorithm>

#include "api/meta/resource_type.h"

namespace muster::scheduler {
namespace {

using Length = std::optional<Duration> PreemptionProtection::*;

// The protection of the candidate, which has started, if the preemptor's ClusterQueue respects all of it.
Duration granted(const SchedulerState& state, const WorkloadState& candidate, Length kind) {
  const auto& reference = candidate.holding().start->priority_class;
  // The class of the Workload has precedence over its ClusterQueue (docs/preemption-protection.md).
  if (reference && reference->kind == kWorkloadPriorityClasses.kind && !state.class_protection.empty()) {
    const auto found = state.class_protection.find(reference->name.text());
    if (found != state.class_protection.end() && found->second.*kind) return *(found->second.*kind);
  }
  const ClusterQueue* queue = candidate.queue->object.get();
  return queue == nullptr ? Duration::zero() : (queue->protection.*kind).value_or(Duration::zero());
}

}  // namespace

std::optional<MonotonicTime> protected_until(const SchedulerState& state, const WorkloadState& preemptor,
                                             const WorkloadState& candidate) {
  const PreemptionProtection& respects = preemptor.queue->object->protection;
  const Length kind =
      candidate.queue == preemptor.queue ? &PreemptionProtection::in_queue : &PreemptionProtection::reclaim;
  // Without a limit a ClusterQueue respects as much as it grants.
  const Duration most = respects.limit ? *respects.limit : (respects.*kind).value_or(Duration::zero());
  // Without a start its admission checks are pending: it has not run, so no work is lost.
  const auto& start = candidate.holding().start;
  if (most <= Duration::zero() || !start) return std::nullopt;
  const Duration length = std::min(granted(state, candidate, kind), most);
  if (length <= Duration::zero()) return std::nullopt;
  // Victims that are admitted during the preemptor's wait do not extend it.
  return std::min(start->at, preemptor.waiting().awaits_protected_since.value_or(start->at)) + length;
}

// One entry for each queue, the first end: the next evaluation finds later ends.
void await_protection_end(SchedulerState& state, QueueState& queue, MonotonicTime end) {
  if (queue.protection_end && *queue.protection_end <= end) return;
  forget_protection_end(state, queue);
  queue.protection_end = end;
  state.protection_ends.insert({end, &queue});
}

// The index has the time in its key, so the entry goes before the time changes.
void forget_protection_end(SchedulerState& state, QueueState& queue) {
  if (!queue.protection_end) return;
  state.protection_ends.erase({*queue.protection_end, &queue});
  queue.protection_end.reset();
}

// Equal times are all taken: protections of Workloads that started together end together.
std::vector<QueueState*> take_ended_protections(SchedulerState& state, MonotonicTime now) {
  std::vector<QueueState*> queues;
  while (!state.protection_ends.empty() && state.protection_ends.begin()->time <= now) {
    QueueState* queue = state.protection_ends.begin()->queue;
    forget_protection_end(state, *queue);
    queues.push_back(queue);
  }
  return queues;
}

}  // namespace muster::scheduler
