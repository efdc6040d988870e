// Protection from early preemption: until when a Workload that was admitted recently is no victim.
//
// A victim's WorkloadPriorityClass or else its ClusterQueue says how long; the preemptor's
// ClusterQueue says how much of that its Workloads respect. The time counts from the admission,
// which only muster writes, by the clock that nobody sets. What was admitted after the preemptor began to wait for
// protected Workloads is protected from it only as if it had been admitted then: otherwise new victims could follow
// each other for ever. Pure but for the index of times that the scheduler owns.
// Source: docs/preemption-protection.md.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "scheduler/state.h"

namespace muster {

// What a search for victims has passed over because it is protected.
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
// For a ClusterQueue that goes.
void forget_protection_end(SchedulerState& state, QueueState& queue);
// The ClusterQueues whose time has come; they are not awaited any longer.
std::vector<QueueState*> take_ended_protections(SchedulerState& state, MonotonicTime now);

}  // namespace muster
