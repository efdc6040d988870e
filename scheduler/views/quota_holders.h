// Whose Workloads have the quota that a pending Workload needs: those of its ClusterQueue, and those of ClusterQueues
// of the same cohort tree that have borrowed it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/object_pointers.h"

namespace muster::scheduler {

struct SchedulerState;

// Amounts of one resource of one flavor, in the unit of api/requests.h.
struct QuotaHolders {
  struct Holder {
    WorkloadPtr object;
    int64_t amount;
  };
  std::string cluster_queue;
  bool borrowed = false;      // it is another ClusterQueue
  int64_t amount = 0;         // that it uses; another one: beyond its nominal quota
  std::vector<Holder> named;  // the largest first, then by namespace and name
  size_t count = 0;           // of all its holders
};

// First the ClusterQueue itself, then the others, the largest amount first; at most `most` of them, and of the holders
// of each. Linear in the number of Workloads with quota in the tree.
std::vector<QuotaHolders> quota_holders(const SchedulerState& state, const std::string& cluster_queue,
                                        std::string_view flavor, std::string_view resource, size_t most);

}  // namespace muster::scheduler
