#include "reconcilers/gang/group_scheduling.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/pod.h"
#include "jobs/group_scheduling.h"
#include "reconcilers/gang/group_scheduling_condition.h"
#include "reconcilers/gang/group_scheduling_ledger.h"
#include "reconcilers/gang/group_scheduling_nudge.h"
#include "reconcilers/gang/group_scheduling_owner.h"
#include "reconcilers/gang/group_scheduling_progress.h"
#include "reconcilers/step.h"

namespace muster::reconcilers {
namespace {

using nlohmann::json;
using std::chrono::seconds;

// Most pods of an expired run are deleted with their owner. The pods that still wait are patched after this
// time.
constexpr Duration kBeforeNudgesOfExpired = seconds(10);
std::string seconds_text(Duration duration) {
  return std::to_string(std::max<int64_t>(std::chrono::ceil<seconds>(duration).count(), 0)) + " s";
}

std::string timeout_text(const GangContext& g) {
  const std::string timeout = std::to_string(g.owner.barrier.timeout_seconds) + " s";
  if (g.name_conflict) {
    return "the group was not released within " + timeout + ": its ConfigMap " + g.owner.barrier.config_map +
           " could not be created, because " + holder_of_name(g) + " has that name; remove or rename this object";
  }
  if (g.leaving && !g.progress.expired) {
    return "the group was not released within " + timeout + ": its ConfigMap " + g.owner.barrier.config_map +
           " is being deleted, and a finalizer keeps it; remove its finalizers";
  }
  if (!g.refused.empty() && !g.progress.expired) {
    return "the group was not released within " + timeout + ": its ConfigMap " + g.owner.barrier.config_map +
           " cannot be created: " + g.refused;
  }
  const std::string missing = missing_text(g);
  if (missing.empty()) return "the last pod of the group started later than " + timeout + " after the first";
  return count_of_pods(g.progress) + " within " + timeout + " of the first; missing: " + missing;
}

// --- The ConfigMap ---

enum class Holder { kNobody, kUs, kUsDeleted, kStaleDeleted, kStale, kStranger };

// The owner of the name. A ConfigMap of muster whose Job or JobSet was deleted belonged to an earlier object
// with the same name. A ConfigMap whose owner exists belongs to the gang of this owner.
Holder holder_of(const GangOwner& owner, const ConfigMap* config_map, const state::ClusterState& state) {
  if (config_map == nullptr) return Holder::kNobody;
  const auto& controller = config_map->meta.controller;
  if (!controller) return Holder::kStranger;
  if (controller->uid == owner.meta().uid) return config_map->meta.deleting ? Holder::kUsDeleted : Holder::kUs;
  const ResourceType* type = jobs::job_type_of(*controller);
  if (type == nullptr) return Holder::kStranger;
  const TypedObject* present = state.find(*type, config_map->meta.ns, controller->name);
  if (present != nullptr && meta_of(*present).uid == controller->uid) return Holder::kStranger;
  return config_map->meta.deleting ? Holder::kStaleDeleted : Holder::kStale;
}

// Decisions that the pods show, for a ConfigMap that was deleted. A waiter that exited with 1 can also have
// stopped because muster was down. Then a group that is complete by now still starts.
GangDecisions decisions_by_pods(const GangOwner& owner, const state::Gang* gang) {
  GangDecisions ledger;
  if (gang == nullptr) return ledger;
  const bool complete = assess(owner, gang, {}).complete();
  for (const auto& [token, run] : gang->runs) {
    if (run.passed > 0) {
      ledger.started.push_back(token);
    } else if (run.refused > 0 && !complete) {
      ledger.expired.push_back(token);
    }
  }
  return ledger;
}

// A ConfigMap that is being deleted counts as gone, for as long as a finalizer keeps it. Waiters still read it, so it
// must say no more than a new one would: a run that no pod shows to have started is revoked.
Step revoke(const GangContext& g, const ConfigMap& config_map, Plan& plan) {
  json data = to_data(g.ledger);
  if (data == to_data(read_ledger(config_map))) return Step::kContinue;
  plan.writes.push_back({.verb = Verb::kPatch,
                         .target = g.owner.config_map(),
                         .body = with_version(config_map.meta, {{"data", std::move(data)}})});
  return Step::kDone;
}

// kContinue: the ConfigMap can be used, or does not block a gang.
Step keep_config_map(GangContext& g, Plan& plan) {
  const ObjectKey key = g.owner.config_map();
  const ConfigMap* present = g.state.find<ConfigMap>(key.ns, key.name);
  switch (holder_of(g.owner, present, g.state)) {
    case Holder::kUs:
      g.config_map = present;
      g.ledger = read_ledger(*present);
      return Step::kContinue;
    case Holder::kStranger:
      g.name_conflict = true;
      if (const auto& controller = present->meta.controller) g.holder = controller->kind + " " + controller->name;
      break;
    case Holder::kUsDeleted:
    case Holder::kStaleDeleted:
      g.leaving = true;
      g.ledger = decisions_by_pods(g.owner, g.gang);
      return present->meta.controller->uid == g.owner.meta().uid ? revoke(g, *present, plan) : Step::kContinue;
    case Holder::kStale:
      plan.writes.push_back(
          {.verb = Verb::kDelete, .target = key, .body = with_version(present->meta, {}), .uid = present->meta.uid});
      return Step::kDone;
    case Holder::kNobody:
      g.name_conflict = g.state.writes().has_name_conflict(key, g.now.monotonic);
      if (g.name_conflict) break;
      g.ledger = decisions_by_pods(g.owner, g.gang);
      plan.writes.push_back(create_config_map(g.owner, to_data(g.ledger)));
      // Its time goes on while the API server refuses it.
      if (const auto* rejection = g.state.writes().rejection(g.owner.key, kConfigMaps)) g.refused = rejection->why;
      return g.refused.empty() ? Step::kDone : Step::kContinue;
  }
  plan.wake_at(g.now.wall + kNameConflictInterval);
  return Step::kContinue;
}

// --- The decision ---

// `message`: text of the log line; null if there was no decision.
Write write_ledger(const GangContext& g, GangDecisions ledger, std::vector<ObjectEvent> events, const char* message) {
  prune(ledger, g.gang);
  std::vector<LoggedDecision> decisions;
  if (message != nullptr)
    decisions.push_back({message, {{"configMap", to_text(g.owner.config_map())}, {"message", events.front().note}}});
  return {.verb = Verb::kPatch,
          .target = g.owner.config_map(),
          .body = with_version(g.config_map->meta, {{"data", to_data(ledger)}}),
          .events = std::move(events),
          .decisions = std::move(decisions)};
}

// Whether an existing pod has passed the barrier. Then its run was started, even if a client emptied the list
// later. A pod that has ended can belong to the time before a suspension.
bool bears_witness(const state::GangRun& run) {
  if (run.passed == 0) return false;
  const auto has_passed = [](const PodPtr& pod) { return pod->waiter == WaiterState::kPassed; };
  for (const auto& [uid, job] : run.jobs) {
    if (job.job == nullptr) continue;
    for (const auto& [place, pods] : job.places) {
      if (std::any_of(pods.begin(), pods.end(), has_passed)) return true;
    }
  }
  return false;
}

std::optional<Write> decide_started(const GangContext& g) {
  GangDecisions ledger = g.ledger;
  const bool complete = g.progress.complete();
  for (const std::string& token : g.progress.undecided) {
    if (complete || bears_witness(g.gang->runs.find(token)->second)) ledger.started.push_back(token);
  }
  if (ledger.started.size() == g.ledger.started.size()) return std::nullopt;
  std::string note = std::to_string(g.progress.started) + " pods started";
  if (g.deadline)
    note += " within " + seconds_text(g.now.wall - (*g.deadline - seconds(g.owner.barrier.timeout_seconds)));
  return write_ledger(g, std::move(ledger), {event_on(g.owner, EventReason::kGroupStarted, std::move(note))},
                      "gang started");
}

std::optional<Write> decide_expired(const GangContext& g) {
  if (!g.deadline || g.now.wall < *g.deadline) return std::nullopt;
  GangDecisions ledger = g.ledger;
  for (const std::string& token : g.progress.undecided) {
    ledger.expired.push_back(token);
    ledger.deadlines.emplace(token, *g.deadline);
  }
  return write_ledger(g, std::move(ledger), {event_on(g.owner, EventReason::kGroupSchedulingTimeout, timeout_text(g))},
                      "gang not started in time");
}

// The run's clock starts with its first waiter. It must not start again in a process that starts later or sees
// fewer pods.
std::optional<Write> store_deadline(const GangContext& g) {
  GangDecisions ledger = g.ledger;
  bool is_new = false;
  for (const std::string& token : g.progress.undecided) {
    if (g.gang->runs.find(token)->second.first_started) is_new |= ledger.deadlines.emplace(token, *g.deadline).second;
  }
  if (!is_new) return std::nullopt;
  // Stored in whole seconds: rather later than earlier.
  for (const std::string& token : g.progress.undecided) {
    const auto line = ledger.deadlines.find(token);
    if (line != ledger.deadlines.end()) line->second = std::chrono::ceil<seconds>(line->second);
  }
  return write_ledger(
      g, std::move(ledger),
      {event_on(g.owner, EventReason::kGroupWaiting,
                "the first pod has started; the group starts when all " + std::to_string(g.progress.expected) +
                    " pods have, or ends at " + format_rfc3339(to_timestamp(std::chrono::ceil<seconds>(*g.deadline))))},
      "gang waits for its pods");
}

// The runs of a suspended owner are over. The webhook writes a new epoch when the owner resumes. If a client
// bypassed the webhook, the pods of the next run have the old token and wait too. Pods that continue to run in
// spite of the suspension prove that their run was started.
std::optional<Write> end_runs(const GangContext& g) {
  GangDecisions ledger = g.ledger;
  ledger.started.clear();
  // A ConfigMap can have ten thousands of lines, so each line must not search a list.
  const std::unordered_set<std::string_view> expired(ledger.expired.begin(), ledger.expired.end());
  std::erase_if(ledger.deadlines, [&](const auto& line) { return !expired.contains(line.first); });
  if (g.ledger.started.empty() && ledger.deadlines.size() == g.ledger.deadlines.size()) return std::nullopt;
  return write_ledger(g, std::move(ledger), {}, nullptr);
}

std::optional<Write> decide(const GangContext& g, Plan& plan) {
  if (g.progress.undecided.empty()) return std::nullopt;
  if (auto write = decide_started(g)) return write;
  if (auto write = decide_expired(g)) return write;
  if (!g.deadline) return std::nullopt;
  plan.wake_at(*g.deadline);
  return store_deadline(g);
}

// --- The end of an owner whose time is over ---

// The condition with the missing pods is written first, then the end: both are writes to one object.
std::optional<Write> end(const GangContext& g) {
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (present == nullptr || present->reason != kGroupSchedulingTimeout) {
    auto write = write_group_started(g.owner, false, kGroupSchedulingTimeout, timeout_text(g), g.now.wall);
    if (write) {
      // Without a ConfigMap, no earlier decision has reported this.
      if (g.config_map == nullptr && !g.progress.expired)
        write->events.push_back(event_on(g.owner, EventReason::kGroupSchedulingTimeout, timeout_text(g)));
      return *write;
    }
  }
  return end_owner(g.owner, g, present->message);
}

// --- The pods ---

void nudge_started(const GangContext& g, Plan& plan) {
  if (g.gang == nullptr) return;
  for (const auto& [token, run] : g.gang->runs) {
    if (!run.waiting.empty() && g.ledger.verdict(token) == GroupVerdict::kStarted)
      nudge(run, jobs::kGroupStartedKey, g.now.wall, plan);
  }
}

// After the owner has ended: its end deletes the pods. A waiter that exits earlier would look like a failure of
// the Job, which the Job controller retries. This code is for pods that stay.
void nudge_expired(const GangContext& g, Plan& plan) {
  if (g.gang == nullptr || g.config_map == nullptr) return;
  for (const auto& [token, run] : g.gang->runs) {
    if (run.waiting.empty() || g.ledger.verdict(token) != GroupVerdict::kExpired) continue;
    const TimePoint from = g.ledger.deadline(token).value_or(TimePoint::min()) + kBeforeNudgesOfExpired;
    if (g.now.wall < from) {
      plan.wake_at(from);
    } else {
      nudge(run, jobs::kGroupExpiredKey, g.now.wall, plan);
    }
  }
}

void add(Plan& plan, std::optional<Write> write) {
  if (write) plan.writes.push_back(std::move(*write));
}

void reconcile_resting(GangContext& g, Plan& plan) {
  const ConfigMap* present = g.state.find<ConfigMap>(g.owner.meta().ns, g.owner.barrier.config_map);
  const Holder holder = holder_of(g.owner, present, g.state);
  if (holder == Holder::kUs || holder == Holder::kUsDeleted) {
    g.config_map = present;
    g.ledger = read_ledger(*present);
  }
  add(plan, write_ended(g));
  if (g.config_map != nullptr && !g.owner.ends()) add(plan, end_runs(g));
  add(plan, clear_start_time(g.owner));
  nudge_expired(g, plan);
}

void reconcile_active(GangContext& g, Plan& plan) {
  if (keep_config_map(g, plan) == Step::kDone) return;
  g.progress = assess(g.owner, g.gang, g.ledger);
  g.deadline = deadline_of(g.owner, g.progress, g.ledger, g.now.wall);
  if (g.progress.expired) return add(plan, end(g));
  if (g.config_map == nullptr) {
    nudge_started(g, plan);
    const bool over = g.deadline && g.now.wall >= *g.deadline;
    if (g.deadline && !over) plan.wake_at(*g.deadline);
    return add(plan, over ? end(g) : write_condition(g, plan));
  }
  add(plan, decide(g, plan));
  // The decision of this pass becomes the condition once it is stored.
  if (plan.writes.empty()) add(plan, write_condition(g, plan));
  nudge_started(g, plan);
}

Plan reconcile(const ObjectKey& key, const ReconcileContext& context) {
  Plan plan;
  if (!context.settings.group_scheduling) return plan;
  const auto owner = find_gang_owner(key, context.state);
  if (!owner) return plan;
  GangContext g{context, *owner, context.state.gangs().find(owner->meta()), nullptr};
  if (owner->ends() || owner->suspended()) {
    reconcile_resting(g, plan);
  } else {
    reconcile_active(g, plan);
  }
  return plan;
}

void add_owners_of_name(const ConfigMap& config_map, std::vector<ObjectKey>& keys) {
  for (auto& [kind, name] : jobs::owners_of_group_config_map(config_map.meta.name))
    keys.push_back({&kind->type, config_map.meta.ns, std::move(name)});
}

void requests_for(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  std::optional<ObjectKey> owner;
  if (std::holds_alternative<JobSetPtr>(object)) {
    owner = key_of(object);
  } else if (const auto* job = std::get_if<JobPtr>(&object)) {
    owner = state::GangIndex::owner_of(**job);
  } else if (const auto* pod = std::get_if<PodPtr>(&object)) {
    owner = state::GangIndex::owner_of(**pod);
  } else if (const auto* config_map = std::get_if<ConfigMapPtr>(&object)) {
    add_owners_of_name(**config_map, keys);
  }
  if (owner) keys.push_back(std::move(*owner));
}

}  // namespace

const Reconciler group_scheduling_reconciler = {
    .name = "group_scheduling", .requests_for = requests_for, .reconcile = reconcile};

}  // namespace muster::reconcilers
