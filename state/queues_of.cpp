#include "state/queues_of.h"

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "state/cluster_state.h"

namespace muster::state {

QueuesOf queues_of(const Workload& workload, const ClusterState& state) {
  QueuesOf queues;
  queues.local = state.find<LocalQueue>(workload.meta.ns, workload.queue_name);
  if (workload.status.admission)
    queues.cluster_name = workload.status.admission->cluster_queue;
  else if (queues.local != nullptr)
    queues.cluster_name = queues.local->cluster_queue;
  queues.cluster = state.find<ClusterQueue>(queues.cluster_name);
  return queues;
}

}  // namespace muster::state
