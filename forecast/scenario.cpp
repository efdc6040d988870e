#include "forecast/scenario.h"

#include <algorithm>

#include "api/cluster_queue.h"
#include "api/workload.h"

namespace muster::forecast {

bool carries_labels_of(const NodeGroup& nodes, const ResourceFlavor& flavor) {
  return nodes.flavor.empty() &&
         std::all_of(flavor.node_labels.begin(), flavor.node_labels.end(), [&](const auto& label) {
           const auto found = nodes.labels.find(label.first);
           return found != nodes.labels.end() && found->second == label.second;
         });
}

std::string job_name(const Scenario& scenario, size_t arrival) {
  const Arrival& source = scenario.arrivals[arrival];
  const JobShape& shape = scenario.shapes[source.shape];
  std::string name = path_of(shape.workload->meta.ns, source.name.empty() ? shape.job : source.name);
  if (source.serial != 0 && source.name.empty()) name += "-" + std::to_string(source.serial);
  return name;
}

}  // namespace muster::forecast
