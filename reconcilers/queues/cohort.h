// Cohorts: with fair sharing, their status shows their weighted share.
// Source: Kueue's Cohort controller.
//
// For people and dashboards: written when it has changed, and at most once a second.
#pragma once

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// Whether a change of a Cohort or ClusterQueue (as it was, or as it is now) can change what its tree lends:
// changes of its status cannot.
bool changes_quota(const Cohort& cohort, const state::ClusterState& state);
bool changes_quota(const ClusterQueue& queue, const state::ClusterState& state);

extern const Reconciler cohort_reconciler;

}  // namespace muster::reconcilers
