// LocalQueues: whether they take Workloads, and what these hold of the ClusterQueue.
// Source: Kueue's LocalQueue controller. Written as seldom as ClusterQueues are.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {
extern const Reconciler local_queue_reconciler;
}  // namespace muster::reconcilers
