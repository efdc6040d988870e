// The rules by which a Workload leaves a flavor on which it does not start (KEP-2560). A timeout has only one
// of its two forms, and only if the trigger is a timeout; the flavors must be flavors of the queue, or '*'; and
// every field must have an effect. Rejected, for example:
//
//   fallbackStrategy: {rules: [{name: spot, trigger: AdmissionCheckRejected, timeoutMinutes: 5}]}
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/flavor_fallback.h"
#include "api/meta/time.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_fallback_strategy {
namespace {

using nlohmann::json;

FieldErrors check_timeout(const FieldPath& path, const json& timeout) {
  const auto length = parse_duration_json(timeout);
  if (!length || *length <= Duration::zero())
    return {invalid(path.child("timeout"), timeout, "must be a positive duration such as 90s or 10m")};
  if (*length > kLongestFallbackTimeout)
    return {invalid(path.child("timeout"), timeout, "must be at most a year: 8760h")};
  return {};
}

FieldErrors check_minutes(const FieldPath& path, const json& minutes) {
  const int64_t most = std::chrono::duration_cast<std::chrono::minutes>(kLongestFallbackTimeout).count();
  if (minutes.is_number_integer() && minutes >= 1 && minutes <= most) return {};
  return {invalid(path.child("timeoutMinutes"), minutes,
                  "must be a positive number of minutes, at most a year: " + std::to_string(most))};
}

FieldErrors check_rule(const FieldPath& path, const json& rule, const std::vector<std::string>& flavors) {
  FieldErrors errors;
  const std::string_view name = string_at(rule, {"name"});
  if (name != "*" && !std::binary_search(flavors.begin(), flavors.end(), name)) {
    errors.push_back(invalid(path.child("name"), name, "must be a flavor of this queue, or * for each of them"));
  }
  const json* timeout = find_path(rule, {"timeout"});
  const json* minutes = find_path(rule, {"timeoutMinutes"});
  const std::string_view trigger = string_at(rule, {"trigger"});
  const bool by_time = trigger.empty() || trigger == to_text(FallbackTrigger::kTimeout);
  if ((timeout != nullptr || minutes != nullptr) && !by_time) {
    errors.push_back(forbidden(path.child(timeout ? "timeout" : "timeoutMinutes"),
                               "only the trigger TimeoutForPodsReadyExceeded has a timeout; leave it out"));
  }
  if (timeout != nullptr && minutes != nullptr) {
    errors.push_back(forbidden(path.child("timeoutMinutes"), "say it once, as timeout or as timeoutMinutes"));
  }
  if (timeout != nullptr) append(errors, check_timeout(path, *timeout));
  if (minutes != nullptr) append(errors, check_minutes(path, *minutes));
  if (name == "*" && by_time && timeout == nullptr && minutes == nullptr) {
    errors.push_back(required(path.child("timeout"), "a rule for * without a timeout has no effect"));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const json* strategy = find_path(object, {"spec", "flavorFungibility", "fallbackStrategy"});
  if (strategy == nullptr || strategy->is_null()) return {};
  const json& rules = array_at(*strategy, {"rules"});
  const FieldPath all_rules("spec.flavorFungibility.fallbackStrategy.rules");
  if (rules.empty())
    return {required(all_rules, "a strategy without rules has no effect; give a rule, or leave the strategy out")};
  const std::vector<std::string> flavors = jobs::flavor_names_of(object);
  FieldErrors errors;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  size_t i = 0;
  for (const json& rule : rules) {
    const FieldPath path = all_rules.index(i++);
    append(errors, check_rule(path, rule, flavors));
    const std::string_view trigger = string_at(rule, {"trigger"});
    const std::string_view name = string_at(rule, {"name"});
    if (!seen.emplace(name, trigger.empty() ? "TimeoutForPodsReadyExceeded" : trigger).second) {
      errors.push_back(duplicate(path.child("name"), name));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_fallback_strategy",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::clusterqueue_fallback_strategy
