// An upgrade of a RayService without downtime runs a second Ray cluster beside the first, beyond the quota of one. So a
// queued RayService says that it has no such upgrades, and Ray's default is one. Rejected, for example:
//
//   kind: RayService
//   spec: {upgradeStrategy: {type: NewCluster}, rayClusterConfig: {...}}
//
// An update of a RayService that was stored without the field can leave it out.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/described/ray_fields.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::ray_service_upgrade {
namespace {

FieldErrors upgrades_in(const nlohmann::json& service) {
  const std::string_view type = string_at(service, {"spec", "upgradeStrategy", "type"});
  if (type == "None") return {};
  return {invalid("spec.upgradeStrategy.type", type,
                  "a queued RayService has upgrades without downtime only as an elastic job, because they run a second "
                  "cluster beyond its quota; set it to None")};
}

FieldErrors check(const Review& review) {
  if (!review.settings.enabled(Gate::kRayServiceValidateUpgradeStrategy) || !jobs::is_queued_here(review) ||
      jobs::is_elastic(review.settings, review.request.object))
    return {};
  return new_errors(review, upgrades_in);
}

}  // namespace

extern const Validator rule = {
    .name = "ray_service_upgrade",
    .matches = {jobs::kRayServices},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::ray_service_upgrade
