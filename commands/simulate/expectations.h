// What a platform team demands of its configuration: read strictly from YAML, checked against a simulation. Pure.
//
//   expect:
//   - queue: team-a/main          # a LocalQueue; or clusterQueue, priorityClass, or several: all must match
//     waitP99AtMost: 10m
//     evictionsAtMost: 0
//   - job: team-a/train
//     startsWithin: 5m
//   - flavor: on-demand
//     resource: cpu
//     meanUsageAtLeast: 0.5       # of the nominal quota
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "forecast/summary.h"

namespace muster::commands {

struct Expectation {
  std::string place;  // "expect[0]"
  // Of queues: all that are not empty must match; none: all jobs count.
  std::string queue{}, cluster_queue{}, priority_class{};
  std::string job{};                       // of one job: "team-a/train"
  std::string flavor{}, resource{};        // of a flavor's resource
  std::string text{};                      // who it is about: "queue team-a/main"
  std::map<std::string, double> limits{};  // by the name of the field; seconds, counts, or a share
  std::string on_flavor{};                 // of a job: the flavor of its last start
};

// One limit of one expectation.
struct CheckedExpectation {
  std::string name;  // "expect[0]: queue team-a/main: waitP99AtMost 10m0s"
  bool holds = true;
  std::string found;  // a sentence: "the 99th percentile of the waits is 12m5s"
};

// The error begins with line or path.
Result<std::vector<Expectation>> read_expectations(std::string_view yaml);

// An error for an expectation about no object: a name that is not in the simulation.
Result<std::vector<CheckedExpectation>> check_expectations(const std::vector<Expectation>& expectations,
                                                           const forecast::Scenario& scenario,
                                                           const forecast::History& history,
                                                           const forecast::Summary& summary);

}  // namespace muster::commands
