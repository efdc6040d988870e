// The queues of a Workload.
#pragma once

#include <string>

#include "api/meta/object_pointers.h"
#include "state/cluster_state.h"

namespace muster::state {

// The queues of a Workload as they are; nullptr: there is none.
struct QueuesOf {
  const LocalQueue* local = nullptr;
  const ClusterQueue* cluster = nullptr;
  std::string cluster_name;  // where its quota is, or where its LocalQueue points to
};
QueuesOf queues_of(const Workload& workload, const ClusterState& state);

}  // namespace muster::state
