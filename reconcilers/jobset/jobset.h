// The JobSet controller (jobset.x-k8s.io/v1alpha2), where muster is it: from a JobSet it
// makes the Jobs and the headless Service, starts, suspends, resumes and scales them,
// judges their ends, restarts or finishes the JobSet, and writes its status.
//
// What it does and how it is called (names, labels, conditions, reasons) is upstream's,
// as tools know it: kubernetes-sigs/jobset, pkg/controllers. It differs where that
// cannot be seen or was a fault: status writes are few (reconcilers/jobset/jobset_status.h); an
// InOrder start that was completed is not undone by a pod that fails later; a Job of the
// JobSet's name pattern that belongs to somebody else is told about and waited for; and
// whatever is unfinished when the JobSet ends is deleted, also of earlier attempts.
//
// A pure reconciler (reconcilers/reconciler.h). Keys are JobSets.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster {

extern const Reconciler jobset_reconciler;

}  // namespace muster
