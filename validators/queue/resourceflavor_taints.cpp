// The taints of a flavor are taints that a node can have, each key and effect once. Rejected, for example:
//
//   nodeTaints: [{key: spot, value: a, effect: NoSchedule}, {key: spot, value: b, effect: NoSchedule}]
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "api/meta/names.h"
#include "jobs/queue_text.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_taints {
namespace {

using nlohmann::json;

bool is_effect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

FieldErrors check(const Review& review) {
  const FieldPath path("spec.nodeTaints");
  FieldErrors errors;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  bool known_effects = true;
  size_t i = 0;
  for (const json& taint : array_at(review.request.object, {"spec", "nodeTaints"})) {
    const FieldPath at = path.index(i++);
    const std::string_view key = string_at(taint, {"key"}), value = string_at(taint, {"value"});
    const std::string_view effect = string_at(taint, {"effect"});
    append(errors, check_label_name(at.child("key"), key));
    if (const auto messages = is_valid_label_value(value); !messages.empty()) {
      errors.push_back(invalid(at.child("value"), value, join(messages, ";")));
    }
    if (!seen.emplace(key, effect).second) {
      errors.push_back(
          {at, FieldErrorType::kDuplicate, jobs::print_taint(taint), "taints must be unique by key and effect pair"});
    }
    known_effects = known_effects && is_effect(effect);
  }
  if (!known_effects) {
    errors.push_back({path, FieldErrorType::kInvalid, "",
                      "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"});
  }
  return errors;
}

// Kueue's CRD checks the effects.
bool in_schema(const FieldError& error) {
  return error.field == "spec.nodeTaints";
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_taints",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .in_schema = in_schema,
};

}  // namespace muster::validators::resourceflavor_taints
