#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/admission_gates.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::admission_gates_only_removed {
namespace {

// A gate that is added later could block a job that is already admitted.
FieldErrors check(const Review& review) {
  const bool concerned = jobs::checked_kind(review) || review.request.resource == "workloads";
  if (!concerned || !review.settings.enabled(Gate::kAdmissionGatedBy)) return {};
  const auto before =
      jobs::admission_gates_in(annotation(review.request.old_object, kAdmissionGatedByAnnotation).value_or(""));
  const auto after =
      jobs::admission_gates_in(annotation(review.request.object, kAdmissionGatedByAnnotation).value_or(""));
  const std::string field = FieldPath("metadata.annotations").key(kAdmissionGatedByAnnotation);
  if (before.empty() && !after.empty()) return {forbidden(field, "cannot add admission gate after creation")};
  const std::unordered_set<std::string_view> known(before.begin(), before.end());
  const bool only_removed =
      std::all_of(after.begin(), after.end(), [&](std::string_view gate) { return known.contains(gate); });
  if (!only_removed) return {forbidden(field, "can only remove gates, not add new ones")};
  return {};
}

}  // namespace

extern const Validator rule = {
    .name = "admission_gates_only_removed",
    .matches = {kQueuedJobs, {"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::admission_gates_only_removed
