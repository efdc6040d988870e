// Workloads whose job is gone, and the end of those that are kept for a while only.
// Source: Kueue's gate FinishOrphanedWorkloads, and objectRetentionPolicies.
#pragma once

#include "reconcilers/reconciler.h"
#include "reconcilers/step.h"

namespace muster::reconcilers {

// Finishes a Workload that no other controller finishes: its owner is deleted while it is being deleted, or has
// orphaned it (--cascade=orphan), which its label job-uid shows. While pods of that owner are left it keeps its quota
// (reconcilers/workload/pods_left.h). A controller of integrations.externalFrameworks ends its Workloads itself.
Step reconcile_ownerless(const Workload& workload, const ReconcileContext& context, Plan& plan);

// Deletes a finished Workload, or the job of one that muster has deactivated, when its
// time is over. A finished one has no other steps.
Step reconcile_retention(const Workload& workload, const ReconcileContext& context, Plan& plan);

}  // namespace muster::reconcilers
