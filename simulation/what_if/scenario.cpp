#include "simulation/what_if/scenario.h"

namespace muster::what_if {

std::string job_name(const Scenario& scenario, size_t arrival) {
  const Arrival& its = scenario.arrivals[arrival];
  const JobShape& shape = scenario.shapes[its.shape];
  std::string name = path_of(shape.workload->meta.ns, its.name.empty() ? shape.job : its.name);
  if (its.serial != 0 && its.name.empty()) name += "-" + std::to_string(its.serial);
  return name;
}

}  // namespace muster::what_if
