// Pods and their Workload while they have one: the steps from its end backwards to its admission.
// Source: Kueue, jobframework and pkg/controller/jobs/pod.
#pragma once

#include "reconcilers/pod/pod_context.h"

namespace muster::reconcilers {

// `absent`: how many pods of the group are missing.
Step reconcile_workload(const PodContext& context, const Workload& workload, int32_t absent, Plan& plan);

// The end of the reservation of an evicted Workload: none of its pods runs. Without pods that wait it is not queued
// again.
void release_evicted(const ReconcileContext& context, const Workload& workload, const Condition& evicted, bool has_pods,
                     Plan& plan);

}  // namespace muster::reconcilers
