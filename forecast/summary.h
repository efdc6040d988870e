// The numbers that people ask a simulation for. Values; seconds where nothing else is said.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "forecast/history.h"
#include "forecast/scenario.h"

namespace muster::forecast {

// From when a job came until it was first admitted. Of those that were.
struct Waits {
  size_t jobs = 0;  // that were admitted
  double mean = 0, p50 = 0, p99 = 0, most = 0;
};
// The nearest-rank percentiles of `seconds`, which it sorts.
Waits waits_of(std::vector<double>& seconds);

struct JobCounts {
  size_t jobs = 0;                                                 // that came
  size_t finished = 0, running = 0, waiting = 0, deactivated = 0;  // at the end
  size_t never_started = 0;
  size_t never_placed = 0;  // that were admitted, and never had a node for each pod
  size_t evictions = 0, preemptions = 0, fallbacks = 0;

  void add(const JobCounts& others);
};

// Jobs of one LocalQueue and one class of priority.
struct WaitGroup : JobCounts {
  std::string queue;           // "team-a/main"
  std::string cluster_queue;   // empty: the LocalQueue does not exist
  std::string priority_class;  // empty: none
  Waits waits{};
};

// A flavor's resource: of one ClusterQueue, or of all where `cluster_queue` is empty.
struct UsageRow {
  std::string cluster_queue, flavor, resource;
  int64_t nominal = 0;  // in the unit of api/requests.h
  int64_t most = 0;     // at one moment; of the sum of all queues, the highest average of a span
  double mean = 0;
};

// The nodes of one flavor, and one of their resources, in the unit of api/requests.h.
struct NodeRow {
  std::string flavor;
  uint64_t nodes = 0;
  std::string resource;
  int64_t allocatable = 0;  // of all
  int64_t others = 0;       // of this, what pods outside of the queues hold
  int64_t most = 0;         // that jobs held at one moment
  double mean = 0;
};

// Admissions whose pods waited for a node.
struct NodeWaits {
  size_t waited = 0;
  size_t in_vain = 0;    // of these, until the job was stopped, or until the end
  Waits waits{};         // of the others, until all pods had one
  size_t most_pods = 0;  // without a node, at one moment
  double mean_pods = 0;
};

struct Summary : JobCounts {
  Duration elapsed{};
  uint64_t steps = 0;
  Waits waits{};
  std::vector<WaitGroup> groups;                                              // by queue and class
  std::vector<UsageRow> flavors;                                              // by flavor and resource
  std::vector<UsageRow> queue_usage;                                          // by ClusterQueue, flavor and resource
  std::map<std::string, std::map<std::string, uint64_t>> evictions_by_queue;  // ClusterQueue, reason
  std::map<std::string, uint64_t> deactivations;
  bool knows_nodes = false;
  std::vector<NodeRow> nodes;  // by flavor and resource
  NodeWaits node_waits{};
  size_t most_pending = 0;
  double mean_pending = 0;
};

Summary summarize(const Scenario& scenario, const History& history);

}  // namespace muster::forecast
