#include "validators/validator.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json.h"

namespace muster {
namespace {

bool applies(const Validator& validator, const AdmissionRequest& request) {
  if (!request.sub_resource.empty()) return false;
  const auto& operations = validator.operations;
  if (std::find(operations.begin(), operations.end(), request.operation) == operations.end()) return false;
  return std::any_of(validator.matches.begin(), validator.matches.end(), [&](const RuleMatch& match) {
    return match.group == request.group && match.resource == request.resource;
  });
}

bool being_deleted(const AdmissionRequest& request) {
  return request.operation == Operation::kUpdate &&
         !string_at(request.object, {"metadata", "deletionTimestamp"}).empty();
}

}  // namespace

AdmissionResponse validate(const Review& review, RuleObserver* observer) {
  const AdmissionRequest& request = review.request;
  if (being_deleted(request)) return AdmissionResponse::allowed(request);

  FieldErrors errors;
  std::vector<std::string> warnings;
  for (const Validator* validator : all_validators()) {
    if (!applies(*validator, request)) continue;
    if (observer) observer->started(validator->name);
    FieldErrors found = validator->check(review);
    if (validator->warn) {
      for (std::string& warning : validator->warn(review)) warnings.push_back(std::move(warning));
    }
    if (observer) observer->finished(validator->name, found.empty() ? RuleOutcome::kAllowed : RuleOutcome::kRejected);
    append(errors, std::move(found));
  }
  AdmissionResponse response =
      errors.empty() ? AdmissionResponse::allowed(request) : AdmissionResponse::denied(request, errors);
  response.with_warnings(std::move(warnings));
  return response;
}

}  // namespace muster
