// Only a queue with other queues to borrow from and to lend to can have these limits, and a queue cannot lend
// more than it has. (A cohort also lends the quota of its members.) Rejected, for example:
//   spec without cohortName, resources: [{name: cpu, nominalQuota: 10, borrowingLimit: 5}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::resource_groups_limits {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const bool cohort = review.request.resource == "cohorts";
  const bool alone = string_at(object, {"spec", cohort ? "parentName" : "cohortName"}).empty();
  const char* no_others = cohort ? "must be nil when parent is empty" : "must be nil when cohort is empty";
  FieldErrors errors;
  for (const jobs::QuotaPlace& place : jobs::quotas_of(object)) {
    for (const char* key : {"borrowingLimit", "lendingLimit"}) {
      const json* value = find_path(place.quota, {key});
      if (value == nullptr || value->is_null()) continue;
      const auto limit = Quantity::from_json(*value);
      if (!limit) continue;
      const std::string field = place.path.child(key);
      if (alone) errors.push_back(invalid(field, limit->text(), no_others));
      if (cohort || key != std::string_view("lendingLimit")) continue;
      const json* stated = find_path(place.quota, {"nominalQuota"});
      const auto nominal = Quantity::from_json(stated ? *stated : json());
      if (nominal && *limit > *nominal) {
        errors.push_back(invalid(field, limit->text(), "must be less than or equal to the nominalQuota"));
      }
    }
  }
  return errors;
}

// Kueue's CRD checks the borrowing limit of a ClusterQueue; its webhook checks the other limits.
bool in_schema(const FieldError& error) {
  return error.field.ends_with(".borrowingLimit") && error.detail == "must be nil when cohort is empty";
}

}  // namespace

extern const Validator rule = {
    .name = "resource_groups_limits",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "cohorts"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .in_schema = in_schema,
};

}  // namespace muster::validators::resource_groups_limits
