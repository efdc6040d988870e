#include "simulation/what_if/scenario.h"

namespace muster::what_if {

std::string job_name(const Scenario& scenario, size_t arrival) {
  const Arrival& source = scenario.arrivals[arrival];
  const JobShape& shape = scenario.shapes[source.shape];
  std::string name = path_of(shape.workload->meta.ns, source.name.empty() ? shape.job : source.name);
  if (source.serial != 0 && source.name.empty()) name += "-" + std::to_string(source.serial);
  return name;
}

}  // namespace muster::what_if
