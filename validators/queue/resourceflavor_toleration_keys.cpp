// The key of a toleration is a label key. Rejected, for example:
//
//   tolerations: [{key: "-x", operator: Exists}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_toleration_keys {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  return jobs::check_toleration_keys(FieldPath("spec.tolerations"),
                                     array_at(review.request.object, {"spec", "tolerations"}));
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_toleration_keys",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::resourceflavor_toleration_keys
