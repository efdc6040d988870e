// ClusterQueues: whether they can admit, what they hold, and when they can go.
// Source: Kueue's ClusterQueue controller.
//
// Their status is for people and dashboards. It is written when it has changed, and at
// most once a second, because counts change with every Workload.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// How long a queue's key is not reconciled after a write of its status.
inline constexpr Duration kQueueStatusRest = std::chrono::seconds(1);

extern const Reconciler cluster_queue_reconciler;

}  // namespace muster::reconcilers
