// Writes the answers of muster's own admission check controllers (check_controller.h): the Active condition of their
// AdmissionChecks, and the states of these checks in Workloads.
#pragma once

#include "reconcilers/checks/check_controller.h"

namespace muster::reconcilers {

extern const Reconciler check_answers_reconciler;

// Workloads and AdmissionChecks that a change concerns because of these controllers, added to `keys`. A changed
// AdmissionCheck concerns the Workloads with quota of its ClusterQueues; it writes nothing without controllers.
void add_check_requests(CheckControllers controllers, const state::ClusterState& state, const TypedObject& object,
                        std::vector<ObjectKey>& keys);

}  // namespace muster::reconcilers
