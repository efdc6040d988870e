#include "reconcilers/cohorts_above.h"

#include <algorithm>

namespace muster {

const Cohort* cohort_named(const ClusterState& state, std::string_view name) {
  const TypedObject* object = state.find(kCohorts, "", name);
  return object == nullptr ? nullptr : std::get<CohortPtr>(*object).get();
}

CohortsAbove cohorts_above(const ClusterQueue& queue, const ClusterState& state) {
  CohortsAbove above;
  std::string name = queue.cohort;
  while (!name.empty()) {
    above.cyclic = std::find(above.names.begin(), above.names.end(), name) != above.names.end();
    if (above.cyclic) break;
    const Cohort* cohort = cohort_named(state, name);
    above.names.push_back(std::move(name));
    name = cohort == nullptr ? "" : cohort->parent;
  }
  return above;
}

}  // namespace muster
