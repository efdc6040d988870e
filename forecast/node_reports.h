// The nodes of a simulation, and the pods on them, as the scheduler learns of them: for flavors that count nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/requests.h"
#include "forecast/node_room.h"
#include "forecast/scenario.h"
#include "scheduler/nodes/node_table.h"

namespace muster::forecast {

// One thread.
class NodeReports {
 public:
  // Tells of all nodes, and of the pods outside of the queues. Both must outlive it.
  NodeReports(const std::vector<NodeGroup>& nodes, scheduler::NodeTable& table);

  struct Owner {
    std::string ns, workload, pod_set;
  };
  // Pods of the owner have nodes; `before` of its pods had one already. Each pod takes these requests.
  void placed(const Owner& owner, int64_t before, const std::vector<Seats>& seats, const Requests& requests);
  // This number of pods of the owner are gone, which are all that it had.
  void left(const Owner& owner, int64_t pods);

 private:
  std::string name_of(uint64_t node) const;

  const std::vector<NodeGroup>& nodes_;
  scheduler::NodeTable& table_;
};

}  // namespace muster::forecast
