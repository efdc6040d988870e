// The numbers that people ask a simulation for. Values; seconds where nothing else is said.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulation/what_if/history.h"
#include "simulation/what_if/scenario.h"

namespace muster::what_if {

// From when a job came until it was first admitted. Of those that were.
struct Waits {
  size_t jobs = 0;  // that were admitted
  double mean = 0, p50 = 0, p99 = 0, most = 0;
};
// The nearest-rank percentiles of `seconds`, which it sorts.
Waits waits_of(std::vector<double>& seconds);

// Jobs of one LocalQueue and one class of priority.
struct WaitGroup {
  std::string queue;                                               // "team-a/main"
  std::string cluster_queue;                                       // empty: the LocalQueue does not exist
  std::string priority_class;                                      // empty: none
  size_t jobs = 0;                                                 // that came
  size_t finished = 0, running = 0, waiting = 0, deactivated = 0;  // at the end
  size_t never_started = 0;
  size_t evictions = 0, preemptions = 0, fallbacks = 0;
  Waits waits{};
};

// A flavor's resource: of one ClusterQueue, or of all where `cluster_queue` is empty.
struct UsageRow {
  std::string cluster_queue, flavor, resource;
  int64_t nominal = 0;  // in the unit of api/requests.h
  int64_t most = 0;     // at one moment; of the sum of all queues, the highest average of a span
  double mean = 0;
};

struct Summary {
  Duration elapsed{};
  uint64_t steps = 0;
  size_t jobs = 0, finished = 0, running = 0, waiting = 0, deactivated = 0, never_started = 0;
  size_t evictions = 0, preemptions = 0, fallbacks = 0;
  Waits waits{};
  std::vector<WaitGroup> groups;                                              // by queue and class
  std::vector<UsageRow> flavors;                                              // by flavor and resource
  std::vector<UsageRow> queue_usage;                                          // by ClusterQueue, flavor and resource
  std::map<std::string, std::map<std::string, uint64_t>> evictions_by_queue;  // ClusterQueue, reason
  std::map<std::string, uint64_t> deactivations;
  size_t most_pending = 0;
  double mean_pending = 0;
};

Summary summarize(const Scenario& scenario, const History& history);

}  // namespace muster::what_if
