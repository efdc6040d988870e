// The condition GroupStarted of a gang's owner: for a group that waits, has started, or cannot
// start.
#pragma once

#include <optional>
#include <string>

#include "reconcilers/gang/group_scheduling_ledger.h"
#include "reconcilers/gang/group_scheduling_owner.h"
#include "reconcilers/gang/group_scheduling_progress.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// One gang in one reconciliation.
struct GangContext : ReconcileContext {
  const GangOwner& owner;
  const state::Gang* gang;      // can be null
  const ConfigMap* config_map;  // ours, or null
  bool name_conflict = false;   // another object has the name
  std::string holder{};         // the owner of that object: "JobSet train"; empty: not known
  std::string refused{};        // why the API server does not create it; empty: it does
  bool leaving = false;         // the name's ConfigMap is being deleted, and counts as gone
  GangDecisions ledger{};
  GroupProgress progress{};
  // Of the undecided, as stored or, where nothing is stored, as it would be.
  std::optional<TimePoint> deadline{};
};

// "an object that muster did not create", or "the ConfigMap of JobSet train".
std::string holder_of_name(const GangContext& g);
// missing_pods(), and what else the gang waits for.
std::string missing_text(const GangContext& g);
// "3 of 5 pods have started".
std::string count_of_pods(const GroupProgress& progress);

// For an owner that can run. Nothing when the condition is current already, or will be written later.
std::optional<Write> write_condition(const GangContext& g, Plan& plan);
// For an owner that has ended: replaces the last message about the waiting group.
std::optional<Write> write_ended(const GangContext& g);

}  // namespace muster::reconcilers
