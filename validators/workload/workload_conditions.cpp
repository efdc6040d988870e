// Conditions must be valid, with one condition of each type. Rejected, for example:
//
//   conditions: [{type: PodsReady, status: "True", reason: ""}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "validators/validator.h"

namespace muster::validators::workload_conditions {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  return check_conditions(FieldPath("status.conditions"), array_at(review.request.object, {"status", "conditions"}));
}

}  // namespace

extern const Validator rule = {
    .name = "workload_conditions",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_conditions
