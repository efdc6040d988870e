#include "reconcilers/gang/group_scheduling_condition.h"

#include <algorithm>

#include "api/jobset.h"
#include "jobs/group_scheduling.h"
#include "reconcilers/gang/group_scheduling_text.h"

namespace muster::reconcilers {
namespace {

using std::chrono::seconds;

// How often the condition follows the pods. A gang that starts within this time of its
// ConfigMap's making is never written of as waiting.
constexpr Duration kMessageInterval = seconds(5);
// How often it follows the reasons alone, while as many pods have started as before.
constexpr Duration kReasonsInterval = seconds(15);
std::optional<Write> write_name_conflict(const GangContext& g) {
  const std::string note = "the ConfigMap " + g.owner.barrier.config_map +
                           " of this group cannot be created: " + holder_of_name(g) +
                           " has that name, and muster does not change it; remove or rename this object, or the group "
                           "ends at its timeout";
  auto write = write_group_started(g.owner, false, kConfigMapNameConflict, note, g.now.wall);
  if (write) write->events.push_back(event_on(g.owner, EventReason::kConfigMapNameConflict, note));
  return write;
}

std::optional<Write> write_refused(const GangContext& g) {
  return write_group_started(g.owner, false, kConfigMapCreationFailed,
                             "the ConfigMap " + g.owner.barrier.config_map + " of this group cannot be created: " +
                                 g.refused + "; correct what the API server names, or the group ends at its timeout",
                             g.now.wall);
}

std::optional<Write> write_waiting(const GangContext& g, Plan& plan) {
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  const bool follows = present == nullptr || present->reason == kWaitingForPods;
  WaitingText last;
  TimePoint due = to_time_point(g.config_map->meta.created) + kMessageInterval;
  if (present != nullptr && follows) {
    last = read_waiting(present->message);
    due = last.time ? *last.time + kMessageInterval : g.now.wall;
  }
  // Another reason is of an earlier run. A time further ahead is of a clock that was set back.
  if (follows && g.now.wall < due && due <= g.now.wall + kMessageInterval) {
    plan.wake_at(due);
    return std::nullopt;
  }
  WaitingText text{.count = count_of_pods(g.progress), .time = g.now.wall};
  const bool same_count = follows && last.count == text.count;
  if (same_count && last.time && g.now.wall < *last.time + kReasonsInterval) {
    plan.wake_at(*last.time + kReasonsInterval);
    return std::nullopt;
  }
  text.missing = missing_text(g);
  if (present != nullptr && same_count && last.missing == text.missing) return std::nullopt;
  return write_group_started(g.owner, false, kWaitingForPods, waiting_message(text), g.now.wall);
}

std::optional<Write> write_all_started(const GangContext& g) {
  return write_group_started(g.owner, true, kAllPodsStarted, "all pods of the group have started", g.now.wall);
}

bool last_run_started(const GangContext& g) {
  const int64_t attempt = g.owner.jobset != nullptr ? g.owner.jobset->status.restarts : 0;
  const std::string prefix = jobs::group_token(g.owner.meta().uid, std::to_string(attempt), "");
  return std::any_of(g.ledger.started.begin(), g.ledger.started.end(),
                     [&](const std::string& token) { return token.starts_with(prefix); });
}

}  // namespace

std::string holder_of_name(const GangContext& g) {
  return g.holder.empty() ? "an object that muster did not create" : "the ConfigMap of " + g.holder;
}

std::string missing_text(const GangContext& g) {
  std::string text = missing_pods(g.owner, g.gang, g.ledger, g.state);
  if (!g.progress.held.empty() && !g.deadline)
    text += (text.empty() ? "" : "; ") + std::string("the time of the group has not begun: ") + g.progress.held;
  if (const std::string refused = refused_objects(g.owner, g.state); !refused.empty())
    text += (text.empty() ? "" : "; ") + refused;
  return text;
}

std::string count_of_pods(const GroupProgress& progress) {
  return std::to_string(progress.started) + " of " + std::to_string(progress.expected) + " pods have started";
}

std::optional<Write> write_condition(const GangContext& g, Plan& plan) {
  if (g.name_conflict) return g.progress.waits() ? write_name_conflict(g) : std::nullopt;
  if (!g.refused.empty()) return g.progress.waits() ? write_refused(g) : std::nullopt;
  // In nearly every case another ConfigMap follows at once.
  if (g.leaving && g.progress.waits()) return std::nullopt;
  if (g.progress.waits()) return write_waiting(g, plan);
  if (!g.progress.released) return std::nullopt;
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (present != nullptr && present->is_true()) return std::nullopt;
  return write_all_started(g);
}

std::optional<Write> write_ended(const GangContext& g) {
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (!g.owner.finished() || present == nullptr) return std::nullopt;
  if (present->reason != kWaitingForPods && present->reason != kConfigMapNameConflict &&
      present->reason != kConfigMapCreationFailed)
    return std::nullopt;
  if (last_run_started(g)) return write_all_started(g);
  return write_group_started(
      g.owner, false, kEndedBeforeStart,
      "the " + std::string(g.owner.key.type->kind) + " ended before it was seen that all pods of its group had started",
      g.now.wall);
}

}  // namespace muster::reconcilers
