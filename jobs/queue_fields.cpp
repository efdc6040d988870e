#include "jobs/queue_fields.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "api/workload_conditions.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

bool is_effect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

struct TolerationRule {
  std::string_view detail;
  bool (*broken)(const json& toleration);
};
constexpr std::array kTolerationRules = {
    TolerationRule{"operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
                   [](const json& one) { return !one.contains("key") && string_at(one, {"operator"}) != "Exists"; }},
    TolerationRule{
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
        [](const json& one) { return one.contains("tolerationSeconds") && string_at(one, {"effect"}) != "NoExecute"; }},
    TolerationRule{"supported toleration values: 'Equal'(default), 'Exists'",
                   [](const json& one) {
                     const std::string_view op = string_at(one, {"operator"});
                     return one.contains("operator") && op != "Equal" && op != "Exists";
                   }},
    TolerationRule{"a value must be empty when 'operator' is 'Exists'",
                   [](const json& one) { return string_at(one, {"operator"}) == "Exists" && one.contains("value"); }},
    TolerationRule{"supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
                   [](const json& one) { return one.contains("effect") && !is_effect(string_at(one, {"effect"})); }},
};

}  // namespace

std::vector<QuotaPlace> quotas_of(const json& object) {
  std::vector<QuotaPlace> places;
  size_t i = 0;
  for (const json& group : array_at(object, {"spec", "resourceGroups"})) {
    const FieldPath group_path = FieldPath("spec.resourceGroups").index(i++);
    const json& covered = array_at(group, {"coveredResources"});
    size_t j = 0;
    for (const json& flavor : array_at(group, {"flavors"})) {
      const FieldPath path = group_path.child("flavors").index(j++).child("resources");
      const json& quotas = array_at(flavor, {"resources"});
      for (size_t k = 0; k < std::min(quotas.size(), covered.size()); ++k) {
        const auto* name = covered[k].get_ptr<const std::string*>();
        places.push_back({path.index(k), quotas[k], name != nullptr ? std::string_view(*name) : std::string_view()});
      }
    }
  }
  return places;
}

std::vector<std::string> flavor_names_of(const json& object) {
  std::set<std::string> names;
  for (const json& group : array_at(object, {"spec", "resourceGroups"})) {
    for (const json& flavor : array_at(group, {"flavors"})) names.emplace(string_at(flavor, {"name"}));
  }
  return {names.begin(), names.end()};
}

bool condition_is_true(const json& object, std::string_view type) {
  const json& conditions = array_at(object, {"status", "conditions"});
  return std::any_of(conditions.begin(), conditions.end(), [&](const json& condition) {
    return string_at(condition, {"type"}) == type && string_at(condition, {"status"}) == "True";
  });
}

bool has_quota_reservation(const json& workload) {
  return condition_is_true(workload, kQuotaReservedCondition);
}

const json& pod_sets_of(const json& workload) {
  return array_at(workload, {"spec", "podSets"});
}

FieldErrors check_toleration_shapes(const FieldPath& path, const json& tolerations) {
  FieldErrors errors;
  for (const TolerationRule& rule : kTolerationRules) {
    const bool broken = std::any_of(tolerations.begin(), tolerations.end(),
                                    [&](const json& one) { return one.is_object() && rule.broken(one); });
    if (broken) errors.push_back({path, FieldErrorType::kInvalid, "", std::string(rule.detail)});
  }
  return errors;
}

FieldErrors check_toleration_keys(const FieldPath& path, const json& tolerations) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& toleration : tolerations) {
    const std::string field = path.index(i++).child("key");
    const std::string_view key = string_at(toleration, {"key"});
    if (!key.empty()) append(errors, check_label_name(field, key));
  }
  return errors;
}

}  // namespace muster::jobs
