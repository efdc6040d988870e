// The rules by which a Workload leaves a flavor that does not start (KEP-2560): of the two
// spellings of a timeout one, and only where a timeout is what triggers; flavors that the
// queue has, or '*'. Rejected, for example:
//
//   fallbackStrategy: {rules: [{name: spot, trigger: AdmissionCheckRejected, timeoutMinutes: 5}]}
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

FieldErrors check_rule(const FieldPath& path, const json& rule, const std::vector<std::string>& flavors) {
  FieldErrors errors;
  const std::string_view name = string_at(rule, {"name"});
  if (name != "*" && !std::binary_search(flavors.begin(), flavors.end(), name)) {
    errors.push_back(invalid(path.child("name"), name, "must be a flavor of this queue, or * for each of them"));
  }
  const json* timeout = find_path(rule, {"timeout"});
  const bool has_minutes = find_path(rule, {"timeoutMinutes"}) != nullptr;
  const std::string_view trigger = string_at(rule, {"trigger"});
  if ((timeout != nullptr || has_minutes) && !trigger.empty() && trigger != "TimeoutForPodsReadyExceeded") {
    errors.push_back(forbidden(path.child(timeout ? "timeout" : "timeoutMinutes"),
                               "only the trigger TimeoutForPodsReadyExceeded has a timeout; leave it out"));
  }
  if (timeout == nullptr) return errors;
  if (has_minutes) {
    errors.push_back(forbidden(path.child("timeoutMinutes"), "say it once, as timeout or as timeoutMinutes"));
  }
  const auto length = parse_duration_json(*timeout);
  if (!length || *length <= Duration::zero()) {
    errors.push_back(invalid(path.child("timeout"), *timeout, "must be a positive duration such as 90s or 10m"));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const json& rules = array_at(object, {"spec", "flavorFungibility", "fallbackStrategy", "rules"});
  const std::vector<std::string> flavors = rules.empty() ? std::vector<std::string>() : flavor_names_of(object);
  FieldErrors errors;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  size_t i = 0;
  for (const json& rule : rules) {
    const FieldPath path = FieldPath("spec.flavorFungibility.fallbackStrategy.rules").index(i++);
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

extern const Validator clusterqueue_fallback_strategy;
const Validator clusterqueue_fallback_strategy = {
    .name = "clusterqueue_fallback_strategy",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster
