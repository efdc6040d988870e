// Pods in queues, alone and in groups: each has one Workload, loses its gate when that is admitted and is deleted when
// it is evicted.
//
// What is written and what it is called is upstream's (Kueue, pkg/controller/jobs/pod). It differs where that could
// strand a pod or free quota that is in use:
//  - pods have no finalizer: which of them have succeeded is written into the Workload before anything follows from
//    it, so that it holds when they are gone (docs/decisions/2026-11-23-pods.md);
//  - a pod by itself keeps its quota until its node is free;
//  - a pod that runs without an admitted Workload is deleted, also when others of its group wait;
//  - a pod that asks for more than its pod set is not started.
//
// A pure reconciler (reconcilers/reconciler.h). Keys are kQueuedPods for pods by themselves and kPodGroups for groups.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

extern const Reconciler pod_workload_reconciler;

}  // namespace muster::reconcilers
