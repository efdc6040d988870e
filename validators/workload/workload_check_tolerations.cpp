// The tolerations that an admission check adds must be valid for a pod. (Kueue has this rule in its CRD.)
// Rejected, for example:
//
//   podSetUpdates: [{name: main, tolerations: [{key: spot, operator: Exists, value: "true"}]}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_check_tolerations {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& one : array_at(review.request.object, {"status", "admissionChecks"})) {
    const FieldPath path = FieldPath("status.admissionChecks").index(i++).child("podSetUpdates");
    size_t j = 0;
    for (const json& update : array_at(one, {"podSetUpdates"})) {
      append(errors,
             jobs::check_toleration_shapes(path.index(j++).child("tolerations"), array_at(update, {"tolerations"})));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_check_tolerations",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::workload_check_tolerations
