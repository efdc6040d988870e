// Which jobs a change of an object concerns (Reconciler::requests_for): the job itself, that of a Workload, those that
// wait for a priority class, those whose pods depend on the object. Pure.
#pragma once

#include <vector>

#include "state/cluster_state.h"

namespace muster::reconcilers {

void jobs_concerned_by(const state::ClusterState& state, const TypedObject& object, std::vector<ObjectKey>& keys);

}  // namespace muster::reconcilers
