// What of a job is not ready, for the message of a timeout. Pure.
#pragma once

#include <string>

#include "api/meta/object_pointers.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// "1 of 2 pods are ready" of a Job; "workers: 1 of 4 Jobs are ready" of the replicated jobs of a JobSet that can start,
// the first three. Empty: of another kind, or all are ready.
std::string unready_parts(const Workload& workload, const state::ClusterState& state);

}  // namespace muster::reconcilers
