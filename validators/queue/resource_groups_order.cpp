// The quotas of a flavor must have the order of the covered resources. Rejected, for example:
//
//   coveredResources: [cpu, memory], flavors: [{name: spot, resources: [{name: memory, ...}, {name: cpu, ...}]}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::resource_groups_order {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  for (const jobs::QuotaPlace& place : jobs::quotas_of(review.request.object)) {
    const std::string_view name = string_at(place.quota, {"name"});
    if (name != place.covered) {
      errors.push_back(invalid(place.path.child("name"), name, "must match the name in coveredResources"));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "resource_groups_order",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "cohorts"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::resource_groups_order
