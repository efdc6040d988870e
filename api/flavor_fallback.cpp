#include "api/flavor_fallback.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kEachFlavor = "*";

// nullopt: no timeout, or a timeout that the webhook refuses.
std::optional<Duration> read_timeout(const json& rule) {
  std::optional<Duration> timeout;
  if (const json* text = find_path(rule, {"timeout"})) {
    if (const auto parsed = parse_duration_json(*text)) timeout = *parsed;
  } else if (const auto minutes = int_at(rule, {"timeoutMinutes"})) {
    const int64_t most = std::chrono::duration_cast<std::chrono::minutes>(kLongestFallbackTimeout).count();
    timeout = std::chrono::minutes(std::clamp<int64_t>(*minutes, 0, most));
  }
  if (!timeout || *timeout <= Duration::zero()) return std::nullopt;
  return std::min(*timeout, kLongestFallbackTimeout);
}

std::optional<FallbackRule> read_rule(const json& object) {
  FallbackRule rule{.flavor = std::string(string_at(object, {"name"}))};
  const std::string_view trigger = string_at(object, {"trigger"});
  if (trigger == to_text(FallbackTrigger::kRejectedCheck))
    rule.trigger = FallbackTrigger::kRejectedCheck;
  else if (trigger.empty() || trigger == to_text(FallbackTrigger::kTimeout))
    rule.timeout = read_timeout(object);
  else
    return std::nullopt;
  return rule;
}

json to_json(const FlavorAttempt& attempt) {
  json object = {{"resourceFlavor", attempt.flavor}};
  if (!attempt.assigned_at.is_zero()) object["assignmentTime"] = time_to_json(attempt.assigned_at);
  if (attempt.used_seconds != 0) object["usedSeconds"] = attempt.used_seconds;
  if (attempt.failure)
    object["failure"] = {{"reason", attempt.failure->reason}, {"time", time_to_json(attempt.failure->time)}};
  return object;
}

}  // namespace

std::string_view to_text(FallbackTrigger trigger) {
  return trigger == FallbackTrigger::kTimeout ? "TimeoutForPodsReadyExceeded" : "AdmissionCheckRejected";
}

const FallbackRule* FallbackStrategy::rule_for(std::string_view flavor, FallbackTrigger trigger) const {
  const FallbackRule* found = nullptr;
  for (const FallbackRule& rule : rules) {
    if (rule.trigger != trigger) continue;
    if (rule.flavor == flavor) return &rule;
    if (rule.flavor == kEachFlavor) found = &rule;
  }
  return found;
}

std::optional<Duration> FallbackStrategy::timeout_of(std::string_view flavor) const {
  const FallbackRule* rule = rule_for(flavor, FallbackTrigger::kTimeout);
  return rule == nullptr ? std::nullopt : rule->timeout;
}

bool FallbackStrategy::applies(std::string_view flavor, FallbackTrigger trigger) const {
  return trigger == FallbackTrigger::kTimeout ? timeout_of(flavor).has_value() : rule_for(flavor, trigger) != nullptr;
}

std::optional<Duration> FallbackStrategy::longest_timeout() const {
  std::optional<Duration> longest;
  for (const FallbackRule& rule : rules) {
    if (rule.timeout) longest = std::max(longest.value_or(Duration::zero()), *rule.timeout);
  }
  return longest;
}

FallbackStrategy read_fallback_strategy(const json& object) {
  FallbackStrategy strategy;
  if (string_at(object, {"failurePolicy"}) == "DeactivateWorkload")
    strategy.failure_policy = FallbackFailurePolicy::kDeactivateWorkload;
  for (const json& item : array_at(object, {"rules"})) {
    if (auto rule = read_rule(item)) strategy.rules.push_back(*std::move(rule));
  }
  return strategy;
}

const FlavorAttempt* FlavorHistory::find(std::string_view flavor) const {
  const auto found = std::find_if(attempts.begin(), attempts.end(),
                                  [&](const FlavorAttempt& attempt) { return attempt.flavor == flavor; });
  return found == attempts.end() ? nullptr : &*found;
}

FlavorAttempt* FlavorHistory::find(std::string_view flavor) {
  return const_cast<FlavorAttempt*>(std::as_const(*this).find(flavor));
}

FlavorHistory read_flavor_history(const json& status) {
  FlavorHistory history;
  for (const json& item : array_at(status, {"flavorAssignmentHistory"})) {
    FlavorAttempt attempt{.flavor = std::string(string_at(item, {"resourceFlavor"})),
                          .assigned_at = time_at(item, {"assignmentTime"}),
                          .used_seconds = std::max(int32_at(item, {"usedSeconds"}), 0)};
    if (const json& failure = object_at(item, {"failure"}); !failure.empty()) {
      attempt.failure =
          FlavorFailure{.reason = std::string(string_at(failure, {"reason"})), .time = time_at(failure, {"time"})};
    }
    history.attempts.push_back(std::move(attempt));
  }
  if (const json& fallback = object_at(status, {"flavorFallback"}); !fallback.empty()) {
    history.fallback = FlavorFallbackState{.cluster_queue = std::string(string_at(fallback, {"clusterQueue"})),
                                           .round = std::max(int32_at(fallback, {"round"}, 1), 1)};
  }
  return history;
}

void put_flavor_history(const FlavorHistory& before, const FlavorHistory& history, json& patch) {
  if (history.attempts != before.attempts) {
    json list = json::array();
    for (const FlavorAttempt& attempt : history.attempts) list.push_back(to_json(attempt));
    patch["flavorAssignmentHistory"] = list.empty() ? json() : std::move(list);
  }
  if (history.fallback != before.fallback) {
    patch["flavorFallback"] =
        !history.fallback ? json()
                          : json{{"clusterQueue", history.fallback->cluster_queue}, {"round", history.fallback->round}};
  }
}

}  // namespace muster
