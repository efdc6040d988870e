// Protection from early preemption: how long a recently admitted Workload is no victim.
//
// A victim's WorkloadPriorityClass or else its ClusterQueue sets the time; the preemptor's ClusterQueue
// sets how much of it its Workloads respect. The time counts from the admission, which only muster
// writes, by the monotonic clock. If a victim is admitted after the preemptor began to wait, its
// protection counts from the start of this wait: otherwise a sequence of new victims could block
// forever. Pure except for the index of times that the scheduler owns. Source:
// docs/preemption-protection.md.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "scheduler/state.h"

namespace muster::scheduler {

// Protected Workloads that a search for victims has skipped.
struct Spared {
  std::optional<MonotonicTime> first_end{};  // when the first of them can be preempted

  void note(MonotonicTime end) { first_end = first_end && *first_end < end ? *first_end : end; }
};

// Until when `candidate` is protected from `preemptor`; nullopt: it is not. The time can have passed.
std::optional<MonotonicTime> protected_until(const SchedulerState& state, const WorkloadState& preemptor,
                                             const WorkloadState& candidate);

// A protection ends: the pending Workloads of `queue` are worth another evaluation then. The earliest time of
// a ClusterQueue counts.
void await_protection_end(SchedulerState& state, QueueState& queue, MonotonicTime end);
// For a deleted ClusterQueue.
void forget_protection_end(SchedulerState& state, QueueState& queue);
// Removes and returns the ClusterQueues whose time has passed.
std::vector<QueueState*> take_ended_protections(SchedulerState& state, MonotonicTime now);

}  // namespace muster::scheduler
