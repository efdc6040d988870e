// The flavors that a Workload can ever get in its ClusterQueue: the choices of flavor fallback.
#pragma once

#include <string>
#include <vector>

namespace muster {

// Of one pod set and one resource group from which it requests something.
struct FlavorOptions {
  std::string pod_set;
  std::string assigned;  // empty: it has no quota
  // In the order of the queue: the flavor exists, its taints and labels match the pods, and the ClusterQueue's maximum
  // quota of it is enough, independent of current usage.
  std::vector<std::string> eligible;

  bool operator==(const FlavorOptions&) const = default;
};

}  // namespace muster
