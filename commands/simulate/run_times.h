// Run times of a cluster's Workloads by the rules of the estimated starts (forecast/starts/run_times.h): finished
// Workloads of the same LocalQueue and shape, annotations as far as they were accurate, maximum execution times. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/start_estimate.h"
#include "base/clock.h"
#include "forecast/scenario_reader.h"

namespace muster::commands {

struct KnownRunTimes {
  StartBasis basis{};                          // without `finished`
  std::map<std::string, uint32_t> finished{};  // Workloads that were counted, by LocalQueue: "namespace/name"
};

// Gives each unfinished Workload of a cluster the run time below which a `share` (from 0 to below 1) of those lie that
// are likely for it: as its annotation. A Workload of which nothing is known stays as it is. Returns what that came
// from.
KnownRunTimes give_run_times(std::vector<forecast::SourceObject>& objects, double share, TimePoint now);

}  // namespace muster::commands
