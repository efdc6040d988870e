// Counts and usage of the scheduler's queues, for metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/requests.h"

namespace muster::scheduler {

struct SchedulerState;

struct PendingReading {
  int32_t active = 0;        // compete
  int32_t inadmissible = 0;  // parked, or in a queue that does not admit
};

// The place of a node in its tree; both empty outside of any Cohort, and `root` in a cycle.
struct TreeReading {
  std::string parent;
  std::string root;
  // The weighted share of fair sharing, borrowed quota * 1000 / lendable; infinite for a borrower with weight
  // 0.
  double share = 0;
};

struct ClusterQueueReading {
  std::string name;
  bool active = false;
  PendingReading pending;
  Requests requested{};  // of all pending Workloads; only resources of the queue
  TreeReading tree;
  // Pending Workloads that had victims to preempt and were skipped, because others of the same cycle got what they
  // need.
  int32_t preemption_skips = 0;
};
struct LocalQueueReading {
  std::string key;  // "namespace/name"
  PendingReading pending;
};
struct CohortReading {
  struct Quota {
    std::string flavor;
    std::string resource;
    int64_t amount;
  };
  std::string name;
  TreeReading tree;
  std::vector<Quota> subtree{};  // its own and what its children lend
};

// In the order of names, except the LocalQueues.
struct QueueReadings {
  std::vector<ClusterQueueReading> cluster_queues;
  std::vector<LocalQueueReading> local_queues;
  std::vector<CohortReading> cohorts;
};

// One pass over the pending Workloads. `with_requests`: also ClusterQueueReading::requested.
QueueReadings readings_of(const SchedulerState& state, bool with_requests);

// The weighted share of fair sharing as the status of a ClusterQueue or Cohort shows it: rounded up, and the largest
// number for a borrower with weight 0. A root or an unknown name has none: 0.
int64_t share_of_cluster_queue(const SchedulerState& state, const std::string& name);
int64_t share_of_cohort(const SchedulerState& state, const std::string& name);

}  // namespace muster::scheduler
