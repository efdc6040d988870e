// spec.activeDeadlineSeconds of a JobSet needs JobSet's feature gate JobSetActiveDeadlineSeconds (JobSet KEP-1186).
// Rejected, for example, without the gate:
//
//   activeDeadlineSeconds: 3600
//
// A value from a time with the gate can stay or go.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/feature_gates.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_active_deadline {
namespace {

using nlohmann::json;

json deadline_in(const json& jobset) {
  const json* found = find_path(jobset, {"spec", "activeDeadlineSeconds"});
  return found ? *found : json();
}

FieldErrors check(const Review& review) {
  const json deadline = deadline_in(review.request.object);
  if (deadline.is_null() || review.settings.jobset_enabled(kJobSetDeadlineGate)) return {};
  if (jobs::is_managed_elsewhere(review.request.object)) return {};
  if (review.request.operation == Operation::kUpdate && deadline == deadline_in(review.request.old_object)) return {};
  return {invalid("spec.activeDeadlineSeconds", deadline,
                  "activeDeadlineSeconds cannot be set when JobSetActiveDeadlineSeconds feature gate is disabled")};
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_active_deadline",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_active_deadline
