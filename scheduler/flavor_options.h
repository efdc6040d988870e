// The flavors that a Workload could ever have in its ClusterQueue: what flavor fallback chooses from.
#pragma once

#include <string>
#include <vector>

namespace muster {

// Of one pod set and one resource group from which it requests something.
struct FlavorOptions {
  std::string pod_set;
  std::string assigned;  // empty: it has no quota
  // In the order of the queue: the flavor exists, its taints and labels suit the pods, and the
  // most that the ClusterQueue could have of it is enough, whatever is in use now.
  std::vector<std::string> eligible;

  bool operator==(const FlavorOptions&) const = default;
};

}  // namespace muster
