#include "state/cohorts_above.h"

#include <algorithm>

#include "api/cluster_queue.h"

namespace muster::state {

CohortsAbove cohorts_above(const ClusterQueue& queue, const ClusterState& state) {
  CohortsAbove above;
  std::string name = queue.cohort;
  while (!name.empty()) {
    above.cyclic = std::find(above.names.begin(), above.names.end(), name) != above.names.end();
    if (above.cyclic) break;
    const Cohort* cohort = state.find<Cohort>(name);
    above.names.push_back(std::move(name));
    name = cohort == nullptr ? "" : cohort->parent;
  }
  return above;
}

}  // namespace muster::state
