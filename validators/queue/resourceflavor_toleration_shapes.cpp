// The tolerations of a flavor must be valid for a pod. (Kueue has this rule in its CRD.) Rejected, for example:
//
//   tolerations: [{key: spot, operator: Exists, value: "true"}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_toleration_shapes {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  return jobs::check_toleration_shapes(FieldPath("spec.tolerations"),
                                       array_at(review.request.object, {"spec", "tolerations"}));
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_toleration_shapes",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::resourceflavor_toleration_shapes
