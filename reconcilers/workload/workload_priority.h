// A Workload that names a WorkloadPriorityClass has its value: also an existing Workload when the class is changed or
// created again. Without such a class it keeps its value.
#pragma once

#include "reconcilers/command.h"
#include "reconcilers/step.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

Step reconcile_priority(const Workload& workload, const state::ClusterState& state, Plan& plan);

// The Workloads that name the class: visits them all, so for events that are rare.
void enqueue_for_priority_class(const state::ClusterState& state, const PriorityClass& priority_class,
                                std::vector<ObjectKey>& keys);

}  // namespace muster::reconcilers
