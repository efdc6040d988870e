// Why a pending Workload has its place: the terms of scheduler/order/workload_order.h, of it and of the Workloads
// around it. What `kubectl muster priority` shows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/meta/object_pointers.h"
#include "scheduler/order/workload_order.h"

namespace muster::scheduler {

struct SchedulerState;

struct OrderedWorkload {
  WorkloadPtr object;
  std::string cluster_queue;
  size_t position = 0;  // in its ClusterQueue, from 0
  bool itself = false;  // the Workload of the question
  bool sticky = false;
  int32_t priority = 0;
  Timestamp since{};
  OrderTimeOf since_of = OrderTimeOf::kCreation;
  // The first term in which it differs from the Workload of the question, or, of heads, from the head of that one's
  // ClusterQueue. kNone: itself, or no term differs.
  OrderTerm decided_by = OrderTerm::kNone;
};

// The first Workload of a ClusterQueue, with the terms of a cycle that would begin now.
struct OrderedHead {
  OrderedWorkload workload;
  bool claim = false;
  bool blocked = false;  // by an earlier cycle, until other pods are ready
  // How far in the tree of Cohorts the nearest quota is that it needs, over all its suitable flavors: 0 for its
  // ClusterQueue's own. The choice of a flavor can take a farther one (flavorFungibility). nullopt: no flavor is
  // suitable, or none can ever have so much.
  std::optional<int> level{};
  // With fair sharing: what its ClusterQueue borrows in its Cohort after an admission with that quota.
  bool borrows = false;
  DominantShare share{};
};

struct WorkloadOrder {
  std::string cluster_queue;
  size_t position = 0, pending = 0;        // from 0, of this many
  std::map<OrderTerm, size_t> ahead_by{};  // how many are ahead by each term; all of them
  bool fair = false;
  std::vector<OrderedWorkload> queue{};  // the first ones, and those around the Workload, in the order of the queue
  std::vector<OrderedHead> heads{};      // of its tree, in the order of their terms; empty: it has no Cohort
  size_t heads_left_out = 0;
};

// nullopt: it is unknown, or not pending. Linear in the number of Workloads: some 50 ns for each.
std::optional<WorkloadOrder> order_of(const SchedulerState& state, const std::string& ns, const std::string& name);

}  // namespace muster::scheduler
