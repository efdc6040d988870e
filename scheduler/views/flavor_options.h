// The flavors that a Workload can ever get in its ClusterQueue: the choices of flavor fallback.
#pragma once

#include <string>
#include <vector>

namespace muster::scheduler {

struct SchedulerState;

// Of one pod set and one resource group from which it requests something.
struct FlavorOptions {
  std::string pod_set;
  std::string assigned;  // empty: it has no quota
  // In the order of the queue: the flavor exists, its taints and labels match the pods, and the ClusterQueue's maximum
  // quota of it is enough, independent of current usage.
  std::vector<std::string> eligible;

  bool operator==(const FlavorOptions&) const = default;
};

// The flavors that each pod set of a pending or admitted Workload can ever get, by resource group; failed flavors
// included. Empty when it is in no queue.
std::vector<FlavorOptions> flavor_options(const SchedulerState& state, const std::string& ns, const std::string& name);

}  // namespace muster::scheduler
