#include "reconcilers/group_scheduling.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/constants.h"
#include "jobs/group_scheduling.h"
#include "reconcilers/group_scheduling_ledger.h"
#include "reconcilers/group_scheduling_nudge.h"
#include "reconcilers/group_scheduling_owner.h"
#include "reconcilers/group_scheduling_progress.h"

namespace muster {
namespace {

using nlohmann::json;
using std::chrono::seconds;

// How often the condition follows the pods. A gang that starts within this time of its
// ConfigMap's making is never written of as waiting.
constexpr Duration kMessageInterval = seconds(5);
// How often it follows the reasons alone, while as many pods have started as before.
constexpr Duration kReasonsInterval = seconds(15);
// Most pods of an expired run go with their owner. Who waits still is told then.
constexpr Duration kBeforeNudgesOfExpired = seconds(10);
// Somebody else's ConfigMap may have been removed.
constexpr Duration kTakenInterval = seconds(30);

// One gang, while it is looked at.
struct Gathering {
  const GangOwner& owner;
  const ClusterState& state;
  const QueueSettings& queues;
  Now now;
  const Gang* gang;             // may be null
  const ConfigMap* config_map;  // ours, or null
  bool taken = false;           // the name is somebody else's
  GroupLedger ledger{};
  GroupProgress progress{};
  // Of the undecided, as stored or, where nothing is stored, as it would be.
  std::optional<TimePoint> deadline{};
};

std::string count_of_pods(const GroupProgress& progress) {
  return std::to_string(progress.started) + " of " + std::to_string(progress.expected) + " pods have started";
}

std::string seconds_text(Duration duration) {
  return std::to_string(std::max<int64_t>(std::chrono::ceil<seconds>(duration).count(), 0)) + " s";
}

std::string timeout_text(const Gathering& g) {
  const std::string timeout = std::to_string(g.owner.barrier.timeout_seconds) + " s";
  if (g.taken) {
    return "the group was not released within " + timeout + ": its ConfigMap " + g.owner.barrier.config_map +
           " could not be made, because somebody else's object has that name; remove or rename that one";
  }
  const std::string missing = missing_pods(g.owner, g.gang, g.ledger);
  if (missing.empty()) return "the last pod of the group started later than " + timeout + " after the first";
  return count_of_pods(g.progress) + " within " + timeout + " of the first; missing: " + missing;
}

// --- The ConfigMap ---

enum class Holder { kNobody, kUs, kLeaving, kStale, kStranger };

// Who holds the name. A ConfigMap of ours whose Job or JobSet is gone was left behind by
// a namesake; one whose owner exists belongs to that one's gang.
Holder holder_of(const GangOwner& owner, const ConfigMap* config_map, const ClusterState& state) {
  if (config_map == nullptr) return Holder::kNobody;
  const auto& controller = config_map->meta.controller;
  if (!controller) return Holder::kStranger;
  if (controller->uid == owner.meta().uid) return config_map->meta.deleting ? Holder::kLeaving : Holder::kUs;
  const ResourceType* type = job_type_of(*controller);
  if (type == nullptr) return Holder::kStranger;
  const TypedObject* present = state.find(*type, config_map->meta.ns, controller->name);
  if (present != nullptr && meta_of(*present).uid == controller->uid) return Holder::kStranger;
  return config_map->meta.deleting ? Holder::kLeaving : Holder::kStale;
}

// Decisions that pods bear witness to, for a ConfigMap that was deleted. A waiter that
// exited 1 may also have given up on an absent muster; then a group that is complete
// by now still starts.
GroupLedger decisions_by_pods(const GangOwner& owner, const Gang* gang) {
  GroupLedger ledger;
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

// Whether the ConfigMap can be used, or at least stands in nobody's way.
bool keep_config_map(Gathering& g, Plan& plan) {
  const ObjectKey key = g.owner.config_map();
  const ConfigMap* present = g.state.config_map(key.ns, key.name);
  switch (holder_of(g.owner, present, g.state)) {
    case Holder::kUs:
      g.config_map = present;
      g.ledger = read_ledger(*present);
      return true;
    case Holder::kStranger:
      g.taken = true;
      break;
    case Holder::kLeaving:
      return false;
    case Holder::kStale:
      plan.writes.push_back({.verb = Verb::kDelete, .target = key, .uid = present->meta.uid});
      return false;
    case Holder::kNobody:
      g.taken = g.state.taken(key, g.now.monotonic);
      if (g.taken) break;
      plan.writes.push_back(create_config_map(g.owner, to_data(decisions_by_pods(g.owner, g.gang))));
      return false;
  }
  plan.wake_at(g.now.wall + kTakenInterval);
  return true;
}

// --- The decision ---

// The earliest deadline of the undecided. A waiter's start is the kubelet's word; what it
// puts into the future counts as now.
std::optional<TimePoint> deadline_of(const Gathering& g) {
  std::optional<TimePoint> earliest;
  for (const std::string& token : g.progress.undecided) {
    const auto stored = g.ledger.deadline(token);
    if (stored) earliest = earliest ? std::min(*earliest, *stored) : stored;
  }
  if (earliest || !g.progress.first_started) return earliest;
  return std::min(*g.progress.first_started, g.now.wall) + seconds(g.owner.barrier.timeout_seconds);
}

Write write_ledger(const Gathering& g, GroupLedger ledger, ObjectEvent event) {
  prune(ledger, g.gang);
  return {.verb = Verb::kPatch,
          .target = g.owner.config_map(),
          .body = with_version(g.config_map->meta, {{"data", to_data(ledger)}}),
          .events = {std::move(event)}};
}

std::optional<Write> decide_started(const Gathering& g) {
  GroupLedger ledger = g.ledger;
  const bool complete = g.progress.complete();
  for (const std::string& token : g.progress.undecided) {
    // A pod that has passed proves that the run was started, whoever emptied the list since.
    if (complete || g.gang->runs.find(token)->second.passed > 0) ledger.started.push_back(token);
  }
  if (ledger.started.size() == g.ledger.started.size()) return std::nullopt;
  std::string note = std::to_string(g.progress.started) + " pods started";
  if (g.deadline)
    note += " within " + seconds_text(g.now.wall - (*g.deadline - seconds(g.owner.barrier.timeout_seconds)));
  return write_ledger(g, std::move(ledger), event_on(g.owner, kNormalEvent, "GroupStarted", std::move(note)));
}

std::optional<Write> decide_expired(const Gathering& g) {
  if (!g.deadline || g.now.wall < *g.deadline) return std::nullopt;
  GroupLedger ledger = g.ledger;
  for (const std::string& token : g.progress.undecided) {
    ledger.expired.push_back(token);
    ledger.deadlines.emplace(token, *g.deadline);
  }
  return write_ledger(g, std::move(ledger), event_on(g.owner, kWarningEvent, kGroupSchedulingTimeout, timeout_text(g)));
}

// The run's clock starts with its first waiter, and must not start again in a process
// that comes later or sees fewer pods.
std::optional<Write> store_deadline(const Gathering& g) {
  GroupLedger ledger = g.ledger;
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
      event_on(g.owner, kNormalEvent, "GroupWaiting",
               "the first pod has started; the group starts when all " + std::to_string(g.progress.expected) +
                   " pods have, or ends at " + format_rfc3339(to_timestamp(std::chrono::ceil<seconds>(*g.deadline)))));
}

std::optional<Write> decide(const Gathering& g, Plan& plan) {
  if (g.progress.undecided.empty()) return std::nullopt;
  if (auto write = decide_started(g)) return write;
  if (auto write = decide_expired(g)) return write;
  if (!g.deadline) return std::nullopt;
  plan.wake_at(*g.deadline);
  return store_deadline(g);
}

// --- The condition ---

// "3 of 5 pods have started as of 2026-01-01T00:00:00Z; missing: ...": the time of the
// last message stands in the message, because a condition's own time moves only with
// its status.
constexpr std::string_view kAsOf = " as of ";

struct StampedText {
  std::string before, after;
  TimePoint time = TimePoint::min();
};

StampedText read_stamped(std::string_view message) {
  const size_t mark = message.find(kAsOf);
  if (mark == std::string_view::npos) return {std::string(message), "", TimePoint::min()};
  const std::string_view rest = message.substr(mark + kAsOf.size());
  const size_t end = std::min(rest.find(';'), rest.size());
  const auto time = parse_rfc3339(rest.substr(0, end));
  if (!time.ok()) return {std::string(message), "", TimePoint::min()};
  return {std::string(message.substr(0, mark)), std::string(rest.substr(end)), to_time_point(*time)};
}

std::optional<Write> write_taken(const Gathering& g) {
  const std::string note = "the ConfigMap " + g.owner.barrier.config_map +
                           " of this group cannot be made: somebody else's object has that name, and muster does not "
                           "touch it; remove or rename it, or the group ends at its timeout";
  auto write = write_group_started(g.owner, false, kConfigMapNameTaken, note, g.now.wall);
  if (write) write->events.push_back(event_on(g.owner, kWarningEvent, kConfigMapNameTaken, note));
  return write;
}

std::optional<Write> write_waiting(const Gathering& g, Plan& plan) {
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  const bool follows = present == nullptr || present->reason == kWaitingForPods;
  StampedText last;
  TimePoint due = to_time_point(g.config_map->meta.created) + kMessageInterval;
  if (present != nullptr && follows) {
    last = read_stamped(present->message);
    due = last.time == TimePoint::min() ? g.now.wall : last.time + kMessageInterval;
  }
  // Another reason is of an earlier run. A time further ahead is of a clock that was set back.
  if (follows && g.now.wall < due && due <= g.now.wall + kMessageInterval) {
    plan.wake_at(due);
    return std::nullopt;
  }
  const std::string count = count_of_pods(g.progress);
  if (follows && last.before == count && g.now.wall < last.time + kReasonsInterval) {
    plan.wake_at(last.time + kReasonsInterval);
    return std::nullopt;
  }
  const std::string missing = missing_pods(g.owner, g.gang, g.ledger);
  const std::string rest = missing.empty() ? "" : "; missing: " + missing;
  if (present != nullptr && follows && last.before == count && last.after == rest) return std::nullopt;
  return write_group_started(g.owner, false, kWaitingForPods,
                             count + std::string(kAsOf) + format_rfc3339(to_timestamp(g.now.wall)) + rest, g.now.wall);
}

std::optional<Write> write_condition(const Gathering& g, Plan& plan) {
  if (g.taken) return g.progress.waits() ? write_taken(g) : std::nullopt;
  if (g.progress.waits()) return write_waiting(g, plan);
  if (!g.progress.released) return std::nullopt;
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (present != nullptr && present->is_true()) return std::nullopt;
  return write_group_started(g.owner, true, kAllPodsStarted, "all pods of the group have started", g.now.wall);
}

// --- The end of an owner whose time is over ---

// First the condition, which names the missing, then the end: both are writes to one object.
std::optional<Write> end(const Gathering& g) {
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (present == nullptr || present->reason != kGroupSchedulingTimeout) {
    auto write = write_group_started(g.owner, false, kGroupSchedulingTimeout, timeout_text(g), g.now.wall);
    if (write) {
      // Without a ConfigMap there was no decision to tell of it.
      if (g.taken) write->events.push_back(event_on(g.owner, kWarningEvent, kGroupSchedulingTimeout, timeout_text(g)));
      return *write;
    }
  }
  return end_owner(g.owner, g.state, g.queues, present->message, g.now);
}

// --- The pods ---

void nudge_started(const Gathering& g, Plan& plan) {
  if (g.gang == nullptr) return;
  for (const auto& [token, run] : g.gang->runs) {
    if (!run.waiting.empty() && g.ledger.verdict(token) == GroupVerdict::kStarted)
      nudge(run, kGroupStartedKey, g.now.wall, plan);
  }
}

// After the owner has ended: its end deletes the pods, and a waiter that exits before
// would look like a failure of the Job, to be retried. This is for pods that stay.
void nudge_expired(const Gathering& g, Plan& plan) {
  if (g.gang == nullptr || g.config_map == nullptr) return;
  for (const auto& [token, run] : g.gang->runs) {
    if (run.waiting.empty() || g.ledger.verdict(token) != GroupVerdict::kExpired) continue;
    const TimePoint from = g.ledger.deadline(token).value_or(TimePoint::min()) + kBeforeNudgesOfExpired;
    if (g.now.wall < from) {
      plan.wake_at(from);
    } else {
      nudge(run, kGroupExpiredKey, g.now.wall, plan);
    }
  }
}

void add(Plan& plan, std::optional<Write> write) {
  if (write) plan.writes.push_back(std::move(*write));
}

void reconcile_resting(Gathering& g, Plan& plan) {
  const ConfigMap* present = g.state.config_map(g.owner.meta().ns, g.owner.barrier.config_map);
  if (holder_of(g.owner, present, g.state) == Holder::kUs) {
    g.config_map = present;
    g.ledger = read_ledger(*present);
  }
  add(plan, clear_start_time(g.owner));
  nudge_expired(g, plan);
}

void reconcile_active(Gathering& g, Plan& plan) {
  if (!keep_config_map(g, plan)) return;
  g.progress = assess(g.owner, g.gang, g.ledger);
  g.deadline = deadline_of(g);
  if (g.taken) {
    const bool over = g.deadline && g.now.wall >= *g.deadline;
    if (g.deadline && !over) plan.wake_at(*g.deadline);
    return add(plan, over ? end(g) : write_condition(g, plan));
  }
  if (g.progress.expired) return add(plan, end(g));
  add(plan, decide(g, plan));
  // What is decided now will be the condition once it is stored.
  if (plan.writes.empty()) add(plan, write_condition(g, plan));
  nudge_started(g, plan);
}

Plan reconcile(const ObjectKey& key, const ClusterState& state, const ReconcilerSettings& settings, Now now) {
  Plan plan;
  if (!settings.group_scheduling) return plan;
  const auto owner = find_gang_owner(key, state);
  if (!owner) return plan;
  Gathering g{.owner = *owner,
              .state = state,
              .queues = settings.queues,
              .now = now,
              .gang = state.gangs().find(owner->meta().uid),
              .config_map = nullptr};
  if (owner->ends() || owner->suspended()) {
    reconcile_resting(g, plan);
  } else {
    reconcile_active(g, plan);
  }
  return plan;
}

void add_owners_of_name(const ConfigMap& config_map, std::vector<ObjectKey>& keys) {
  const std::string& name = config_map.meta.name;
  for (const auto& [kind, type] : {std::pair(&jobset, &kJobSets), std::pair(&batch_job, &kJobs)}) {
    const std::string suffix = group_config_map_name(*kind, "");
    if (name.size() > suffix.size() && name.ends_with(suffix))
      keys.push_back({type, config_map.meta.ns, name.substr(0, name.size() - suffix.size())});
  }
}

void concerns(const ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  std::optional<ObjectKey> owner;
  if (std::holds_alternative<JobSetPtr>(object)) {
    owner = key_of(object);
  } else if (const auto* job = std::get_if<JobPtr>(&object)) {
    owner = GangIndex::owner_of(**job);
  } else if (const auto* pod = std::get_if<PodPtr>(&object)) {
    owner = GangIndex::owner_of(**pod);
  } else if (const auto* config_map = std::get_if<ConfigMapPtr>(&object)) {
    add_owners_of_name(**config_map, keys);
  }
  if (owner) keys.push_back(std::move(*owner));
}

}  // namespace

const Reconciler group_scheduling_reconciler = {
    .name = "group_scheduling", .concerns = concerns, .reconcile = reconcile};

}  // namespace muster
