// Jobs and JobSets in queues: each has one Workload, is started when the Workload is admitted and stopped when it is
// evicted, and reports the state of its pods and its end to it.
//
// What is written, in which order, and what it is called is upstream's: Kueue,
// jobframework (pkg/controller/jobframework/reconciler.go). It differs where that could
// leave something behind or costs more than it gives:
//  - a stop is written in as few steps as Kubernetes allows, and one that was interrupted
//    is completed for any later state of the Workload;
//  - an elastic job that grows while it holds quota is stopped and requeued;
//  - if another owner's Workload has the name, an event reports it and the job waits.
//
// A pure reconciler (reconcilers/reconciler.h). Keys are Jobs and JobSets.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

extern const Reconciler job_workload_reconciler;

}  // namespace muster::reconcilers
