// What the JobSet controller must know of start barriers: whether failures are the
// waiters' own doing. The barriers themselves, and the end of a JobSet whose gang did
// not come together, are the gang reconciler's. Pure.
#pragma once

#include <vector>

#include "api/jobset.h"
#include "reconcilers/jobset/jobset_attempt.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

// Failed Jobs of an attempt, by the policy that applies to them.
struct GangFailures {
  // A gang's deadline has passed, and the JobSet is about to be failed for it: no
  // failure policy applies, for the waiters of that gang exit with an error.
  bool being_failed = false;
  // Jobs that failed because their gang was too late, in a JobSet that is suspended and retried
  // (muster.batch/group-scheduling-on-timeout: Suspend): created again, because a failed Job cannot be
  // resumed.
  std::vector<const Job*> to_be_remade;
  // The rest: the failure policy's.
  std::vector<const Job*> genuine;
};
GangFailures sort_failures(const JobSet& owner, const JobSetAttempt& run, const state::ClusterState& state);

}  // namespace muster::reconcilers
