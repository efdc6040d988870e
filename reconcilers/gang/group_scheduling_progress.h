// The progress of a gang's current run, and its missing pods.
//
// A run belongs to the newest restart attempt with existing Jobs. Its Jobs normally have one
// token. After a suspend that was undone before the JobSet controller had finished it, they have
// two: then Jobs whose token is in `started` continue, and all other Jobs are one group, decided
// together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/gang/group_scheduling_ledger.h"
#include "reconcilers/gang/group_scheduling_owner.h"
#include "scheduler/eligibility.h"
#include "state/gang_index.h"

namespace muster::reconcilers {

struct GroupProgress {
  std::vector<std::string> undecided;  // tokens of active Jobs
  bool expired = false;                // an active Job has an expired token
  bool released = false;               // an active Job has a started token
  bool blocked = false;                // a Job is missing, or still suspended
  bool all_filled = true;              // every Job that has not been released has its pods
  int64_t expected = 0;                // pods, of Jobs that are missing or not released
  int64_t started = 0;
  std::optional<TimePoint> first_started;  // of the undecided
  // A target that waits for another replicated job, so that the time of the group has not begun: "workers waits until
  // prep is complete". Empty: all targets can start.
  std::string held;

  bool complete() const { return !undecided.empty() && !blocked && !expired && expected > 0 && all_filled; }
  bool waits() const { return !undecided.empty() || (blocked && !released && !expired); }
};

// O(replicated jobs + runs). `gang` can be null.
GroupProgress assess(const GangOwner& owner, const state::Gang* gang, const GangDecisions& ledger);

// When the group ends if it has not started by then: the earliest deadline of the undecided, as stored or, where none
// is stored, as it would be now; nullopt: its time has not begun. A waiter's start is the kubelet's word; what that
// puts into the future counts as now. Where a target waits for another replicated job, the time begins when muster sees
// that all targets can start.
std::optional<TimePoint> deadline_of(const GangOwner& owner, const GroupProgress& progress, const GangDecisions& ledger,
                                     TimePoint now);

// "train-workers-0-2 (not created), train-workers-1-0-x7k2p (Unschedulable: ...) and 3
// more": the first pods of the run that have not started, and why. Empty when none is missing. Of Jobs that do not
// exist it says what they wait for, or why the API server refuses them (known to the leader, from its own writes).
std::string missing_pods(const GangOwner& owner, const state::Gang* gang, const GangDecisions& ledger,
                         const state::ClusterState& state);
// Other objects of a JobSet that the API server refuses: "Service train cannot be created: ...". Empty: none.
std::string refused_objects(const GangOwner& owner, const state::ClusterState& state);

}  // namespace muster::reconcilers
