#include "validators/validator.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>

#include "api/review/deletion.h"
#include "jobs/size_limit.h"

namespace muster::validators {
namespace {

bool is_of_webhook(const Validator& validator, const FieldError& error) {
  if (validator.origin != RuleOrigin::kWebhook) return false;
  return validator.in_schema == nullptr || !validator.in_schema(error);
}

}  // namespace

FieldErrors new_errors(const Review& review,
                       const std::function<FieldErrors(const nlohmann::json& object)>& errors_in) {
  FieldErrors errors = errors_in(review.request.object);
  if (errors.empty() || review.request.operation != Operation::kUpdate) return errors;
  const FieldErrors before = errors_in(review.request.old_object);
  // Errors are distinguished by their whole text: for an object with thousands of errors, a comparison of each
  // pair would be millions of comparisons.
  std::unordered_set<std::string> known;
  for (const FieldError& error : before) known.insert(error.text());
  std::erase_if(errors, [&](const FieldError& error) { return known.contains(error.text()); });
  return errors;
}

FieldErrors if_enforced(const Review& review, FieldErrors (*errors_in)(const Review& review)) {
  return review.settings.suspend_guard == SuspendGuard::kEnforce ? errors_in(review) : FieldErrors();
}

std::vector<std::string> if_observed(const Review& review, FieldErrors (*errors_in)(const Review& review)) {
  std::vector<std::string> warnings;
  if (review.settings.suspend_guard != SuspendGuard::kObserve) return warnings;
  for (const FieldError& error : errors_in(review))
    warnings.push_back(error.field + ": " + error.detail + " (with suspendGuard: enforce this is rejected)");
  return warnings;
}

namespace {

AdmissionResponse validate(const Review& review, RuleObserver* observer, std::vector<std::string_view>& rules) {
  const AdmissionRequest& request = review.request;
  if (is_step_of_deletion(request)) return AdmissionResponse::allowed(request);

  if (auto error = jobs::beyond_size_limit(request)) return AdmissionResponse::denied(request, {*std::move(error)});

  FieldErrors errors;
  std::unordered_set<std::string> texts;
  std::vector<std::string> warnings;
  bool all_of_webhooks = true;
  for (const Validator* validator : all_validators()) {
    if (!applies(validator->matches, validator->operations, request)) continue;
    if (!validator->is_in_force(review.settings)) continue;
    if (observer) observer->started(validator->name);
    FieldErrors found = validator->check(review);
    if (validator->warn) {
      for (std::string& warning : validator->warn(review)) warnings.push_back(std::move(warning));
    }
    if (observer) observer->finished(validator->name, found.empty() ? RuleOutcome::kAllowed : RuleOutcome::kRejected);
    for (FieldError& error : found) {
      all_of_webhooks = all_of_webhooks && is_of_webhook(*validator, error);
      // What several rules, or one rule of several items, say with the same words is said once.
      if (!texts.insert(error.text()).second) continue;
      rules.push_back(validator->name);
      errors.push_back(std::move(error));
    }
  }
  // Warnings are for accepted objects; beside errors they would only distract.
  if (!errors.empty()) {
    return all_of_webhooks ? AdmissionResponse::forbidden(request, errors) : AdmissionResponse::denied(request, errors);
  }
  return AdmissionResponse::allowed(request).with_warnings(std::move(warnings));
}

}  // namespace

AdmissionResponse validate(const Review& review, RuleObserver* observer) {
  std::vector<std::string_view> rules;
  return validate(review, observer, rules);
}

AdmissionResponse validate_naming_rules(const Review& review, std::vector<std::string_view>& rules) {
  return validate(review, nullptr, rules);
}

}  // namespace muster::validators
