// Start as a group (KEP-498), the reconciler's half. For every gang, a JobSet or a Job, it
// maintains the ConfigMap that the waiters read, counts the started pods, decides each run
// exactly once (`started` or `expired`), nudges the waiting pods so that they see the decision,
// and ends an owner after its deadline. jobs/group_scheduling.h has the contract with the
// waiter.
//
// Whether an owner is a gang, and with which ConfigMap and timeout, is read from the pod templates,
// as the webhook left them: JobSet's CRD can be installed again without the field that requested
// it.
//
// Nothing is remembered here. A process that is killed between any two writes is
// continued from the objects:
//
//   ConfigMap  `started`, `expired`: the decisions; `deadlines`: of undecided runs, and
//              of expired ones, from the first time a waiter was seen
//   owner      the condition GroupStarted
//   pod        the nudge annotation: how often, and when last
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

extern const Reconciler group_scheduling_reconciler;

}  // namespace muster::reconcilers
