// A weight is zero, or large enough to divide by. Rejected, for example:
//
//   fairSharing: {weight: "-1"}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "validators/validator.h"

namespace muster::validators::fair_sharing_weight {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json* stated = find_path(review.request.object, {"spec", "fairSharing", "weight"});
  if (stated == nullptr) return {};
  const auto weight = Quantity::from_json(*stated);
  if (!weight) return {};
  if (weight->sign() < 0) {
    return {invalid("spec.fairSharing", weight->text(), "must be greater than or equal to 0")};
  }
  static const Quantity kSmallest = Quantity::parse("1n").value();
  if (weight->sign() > 0 && *weight <= kSmallest) {
    return {invalid("spec.fairSharing", weight->text(), "When not 0, weight must be > 10e-9")};
  }
  return {};
}

}  // namespace

extern const Validator rule = {
    .name = "fair_sharing_weight",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "cohorts"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::fair_sharing_weight
