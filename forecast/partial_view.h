// What a person cannot list, as far as it can be known from what they can list. Pure.
#pragma once

#include <string>
#include <vector>

#include "forecast/scenario_reader.h"

namespace muster::forecast {

// Where a user can list Workloads or LocalQueues of one namespace only, quota that others hold would look free.
// A ClusterQueue's status says how much of each flavor is reserved; what no Workload among `objects` holds of it is
// held here by one Workload for each ClusterQueue, in a namespace kOthers, which no cluster has. No Workload preempts
// it by priority. Workloads whose LocalQueue is not among `objects`, and which hold quota, get one. Adds to `objects`;
// returns sentences about what was added, and about what waits and cannot be known.
inline constexpr std::string_view kOthers = "(others)";
std::vector<std::string> complete_partial_view(std::vector<SourceObject>& objects);

}  // namespace muster::forecast
