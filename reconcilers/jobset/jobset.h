// The JobSet controller (jobset.x-k8s.io/v1alpha2), where muster is it: from a JobSet it
// makes the Jobs and the headless Service, starts, suspends, resumes and scales them,
// judges their ends, restarts or finishes the JobSet, and writes its status.
//
// Behavior and names (labels, conditions, reasons) are upstream's, as tools know them:
// kubernetes-sigs/jobset, pkg/controllers. Differences are invisible or fix bugs: status writes
// are few (reconcilers/jobset/jobset_status.h); a completed InOrder start is not undone by a later
// pod failure; if a Job of the JobSet's name pattern has another owner, an event reports it and
// the JobSet waits; and all unfinished Jobs are deleted when the JobSet ends, also of earlier
// attempts.
//
// A pure reconciler (reconcilers/reconciler.h). Keys are JobSets.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

extern const Reconciler jobset_reconciler;

}  // namespace muster::reconcilers
