// Quotas and limits are not negative. Rejected, for example:
//
//   nominalQuota: "-1"
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::resource_groups_negative {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  for (const jobs::QuotaPlace& place : jobs::quotas_of(review.request.object)) {
    for (const char* key : {"nominalQuota", "borrowingLimit", "lendingLimit"}) {
      const json* value = find_path(place.quota, {key});
      if (value == nullptr) continue;
      const auto amount = Quantity::from_json(*value);
      if (amount && amount->sign() < 0) {
        errors.push_back(invalid(place.path.child(key), amount->text(), "must be greater than or equal to 0"));
      }
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "resource_groups_negative",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "cohorts"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::resource_groups_negative
