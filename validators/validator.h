// The validating webhook: rules without order, every error is collected.
// A new rule is a new file in this folder; CMake makes the table. Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/review/review.h"

namespace muster::validators {

// The place of the rule in Kueue and JobSet, which selects the status code (api/review/admission_review.h): Kueue's
// validating webhooks (kWebhook) return 403 Forbidden, and a schema 422 Invalid. The API server checks the schema
// first, so 422 wins. JobSet's webhook (since 0.12) and a rule that only muster has return 422 as well.
enum class RuleOrigin { kWebhook, kSchema, kJobSet, kMuster };

struct Validator {
  std::string_view name;  // the file's name: "startup_policy_conflict"
  std::vector<RuleMatch> matches;
  std::vector<Operation> operations;
  FieldErrors (*check)(const Review& review);
  // Optional: what the user should know although the request is allowed.
  std::vector<std::string> (*warn)(const Review& review) = nullptr;
  RuleOrigin origin = RuleOrigin::kWebhook;
  // In force only where muster runs JobSets, as all rules of kJobSet: elsewhere JobSet's own webhook has the same rule.
  bool of_native_jobsets = false;
  // Of a rule of kWebhook: the errors that upstream nevertheless has in a schema.
  bool (*in_schema)(const FieldError& error) = nullptr;

  bool is_in_force(const RuleSettings& settings) const {
    return settings.runs_jobsets() || !(of_native_jobsets || origin == RuleOrigin::kJobSet);
  }
};

// The errors of a rule in the object of a request, except for unchanged fields of an update: these can stay, so that
// the rest of the object can still be changed.
FieldErrors new_errors(const Review& review, const std::function<FieldErrors(const nlohmann::json& object)>& errors_in);

// For rules of the suspend guard: what `errors_in` finds is rejected with suspendGuard: enforce, and a warning with
// observe.
FieldErrors if_enforced(const Review& review, FieldErrors (*errors_in)(const Review& review));
std::vector<std::string> if_observed(const Review& review, FieldErrors (*errors_in)(const Review& review));

// Generated: every `extern const Validator rule` of this folder, ordered by name.
std::span<const Validator* const> all_validators();

// Runs every matching rule. What the deletion of an object needs is always allowed (is_step_of_deletion()). `observer`
// can be null.
AdmissionResponse validate(const Review& review, RuleObserver* observer = nullptr);
// The same, and `rules` gets the name of the rule of each error, in the order of the errors.
AdmissionResponse validate_naming_rules(const Review& review, std::vector<std::string_view>& rules);

}  // namespace muster::validators
