// The Cohorts above a ClusterQueue, as their specs say.
#pragma once

#include <string>
#include <vector>

#include "state/cluster_state.h"

namespace muster::state {

struct CohortsAbove {
  // From the queue's own to the root, or to where a cycle closes. The last one needs no object.
  std::vector<std::string> names;
  // There is no root: the last ones are each other's ancestors.
  bool cyclic = false;
};
CohortsAbove cohorts_above(const ClusterQueue& queue, const ClusterState& state);

}  // namespace muster::state
