// Jobs and JobSets from the state, and their owners.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "jobs/management.h"
#include "jobs/queued_job.h"
#include "reconcilers/reconciler.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// nullopt: there is no such job, or the key is of another kind or of a pod.
std::optional<jobs::QueuedJob> find_job(const ObjectKey& key, const state::ClusterState& state);
// Until this long after its creation, an object can be in the state before its owner, which comes by another watch.
// Then an owner that is not in the state does not exist.
inline constexpr Duration kOwnerDelay = std::chrono::seconds(10);
// The topmost managed controller of an object of this type (jobs::managed_ancestor).
jobs::MaybeAncestor ancestor_of(const ReconcileContext& context, const ResourceType& type, const ObjectMeta& meta);

}  // namespace muster::reconcilers
