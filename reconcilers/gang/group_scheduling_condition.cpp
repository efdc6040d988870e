#include "reconcilers/gang/group_scheduling_condition.h"

#include <algorithm>

#include "jobs/group_scheduling.h"

namespace muster {
namespace {

using std::chrono::seconds;

// How often the condition follows the pods. A gang that starts within this time of its
// ConfigMap's making is never written of as waiting.
constexpr Duration kMessageInterval = seconds(5);
// How often it follows the reasons alone, while as many pods have started as before.
constexpr Duration kReasonsInterval = seconds(15);
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

std::optional<Write> write_all_started(const Gathering& g) {
  return write_group_started(g.owner, true, kAllPodsStarted, "all pods of the group have started", g.now.wall);
}

bool last_run_started(const Gathering& g) {
  const int64_t attempt = g.owner.jobset != nullptr ? g.owner.jobset->status.restarts : 0;
  const std::string prefix = group_token(g.owner.meta().uid, std::to_string(attempt), "");
  return std::any_of(g.ledger.started.begin(), g.ledger.started.end(),
                     [&](const std::string& token) { return token.starts_with(prefix); });
}

}  // namespace

std::string count_of_pods(const GroupProgress& progress) {
  return std::to_string(progress.started) + " of " + std::to_string(progress.expected) + " pods have started";
}

std::optional<Write> write_condition(const Gathering& g, Plan& plan) {
  if (g.taken) return g.progress.waits() ? write_taken(g) : std::nullopt;
  if (g.progress.waits()) return write_waiting(g, plan);
  if (!g.progress.released) return std::nullopt;
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (present != nullptr && present->is_true()) return std::nullopt;
  return write_all_started(g);
}

std::optional<Write> write_ended(const Gathering& g) {
  const Condition* present = find_condition(g.owner.conditions(), kGroupStartedCondition);
  if (!g.owner.finished() || present == nullptr) return std::nullopt;
  if (present->reason != kWaitingForPods && present->reason != kConfigMapNameTaken) return std::nullopt;
  if (last_run_started(g)) return write_all_started(g);
  return write_group_started(
      g.owner, false, kEndedBeforeStart,
      "the " + std::string(g.owner.key.type->kind) + " ended before it was seen that all pods of its group had started",
      g.now.wall);
}

}  // namespace muster
