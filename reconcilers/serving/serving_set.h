// StatefulSets and LeaderWorkerSets in queues: their Workloads, and what is written on their pods. A StatefulSet has
// one Workload for all of its pods, a LeaderWorkerSet one for each of its groups; the pods are started and stopped as
// those of any group (reconcilers/pod).
//
// Writes and names are upstream's (Kueue, pkg/controller/jobs/statefulset and leaderworkerset). Differences prevent
// pods without quota, and the release of quota in use:
//  - no pod is started because its set is gone or is being updated: one that waits and would be replaced by the update
//    is deleted, so that its StatefulSet makes it as it shall be;
//  - a set of zero replicas keeps its quota until its last pod has left its node;
//  - a Workload that waits counts as many pods as its set has now.
//
// A pure reconciler (reconcilers/reconciler.h). Keys are of kStatefulSets and kLeaderWorkerSets.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

extern const Reconciler serving_set_reconciler;

}  // namespace muster::reconcilers
