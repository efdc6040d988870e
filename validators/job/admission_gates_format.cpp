#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/names.h"
#include "jobs/admission_gates.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::admission_gates_format {
namespace {

// The same limit as for spec.managedBy of a Job.
constexpr size_t kMaxGateBytes = 63;

FieldErrors complaints_about(std::string_view text) {
  const std::string field = FieldPath("metadata.annotations").key(kAdmissionGatedByAnnotation);
  FieldErrors errors;
  std::set<std::string_view> seen;
  for (std::string_view gate : jobs::admission_gates_in(text)) {
    if (gate.empty()) {
      errors.push_back(invalid(field, text, "cannot contain empty gate names"));
    } else if (!seen.insert(gate).second) {
      errors.push_back(invalid(field, text, "duplicate gate name: " + std::string(gate)));
    } else {
      append(errors, is_domain_prefixed_path(field, gate));
      if (gate.size() > kMaxGateBytes) errors.push_back(too_long(field, kMaxGateBytes));
    }
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const bool concerned = jobs::checked_kind(review) || review.request.resource == "workloads";
  if (!concerned || !review.settings.enabled(Gate::kAdmissionGatedBy)) return {};
  return complaints_about(annotation(review.request.object, kAdmissionGatedByAnnotation).value_or(""));
}

}  // namespace

extern const Validator rule = {
    .name = "admission_gates_format",
    .matches = {kQueuedJobs, {"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::admission_gates_format
