// Whether a ClusterQueue admits Workloads at all, whether a pending Workload can be considered, and where a Workload
// is: questions about the account, without a decision.
#pragma once

#include <optional>
#include <string>

#include "scheduler/outcome.h"
#include "scheduler/state.h"

namespace muster::scheduler {

// Why a ClusterQueue is not active, in the words of its Active condition.
struct InactiveQueue {
  std::string reason;
  std::string message;
};
// nullopt: it is active.
std::optional<InactiveQueue> why_inactive(const SchedulerState& state, const std::string& cluster_queue);

// Why a Workload cannot be considered, whatever quota is free.
struct Invalid {
  PendingReason reason;
  std::string message;
  bool until_changed;  // no release of quota can help
};
// Of a Workload in a queue. In Kueue's order: of several reasons the first one is written. nullopt: it is valid.
std::optional<Invalid> why_invalid(const SchedulerState& state, const WorkloadState& workload);
bool namespace_matches(const SchedulerState& state, const WorkloadState& workload);

// Whether it waits in an active queue: only then a refusal is reported.
bool waits(const SchedulerState& state, const std::string& ns, const std::string& name);
// Its place in its queue: "active", "inadmissible" or "none".
QueuePosition position_of(const SchedulerState& state, const std::string& ns, const std::string& name);

}  // namespace muster::scheduler
