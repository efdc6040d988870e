// Jobs and JobSets from the state, and their owners.
#pragma once

#include <optional>
#include <string>

#include "jobs/management.h"
#include "jobs/queued_job.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// nullopt: there is no such job, or the key is of another kind or of a pod.
std::optional<jobs::QueuedJob> find_job(const ObjectKey& key, const state::ClusterState& state);
// Finds jobs of this namespace, and owners of other kinds that have a Workload there. `state` and `ns` must outlive it.
jobs::OwnerLookup owners_in(const state::ClusterState& state, const RuleSettings& settings, const std::string& ns);

}  // namespace muster::reconcilers
