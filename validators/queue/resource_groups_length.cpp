// Every flavor has as many quotas as its group covers resources. (Kueue says so in its CRD.)
// Rejected, for example:
//
//   coveredResources: [cpu, memory], flavors: [{name: spot, resources: [{name: cpu, ...}]}]
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::resource_groups_length {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& group : array_at(review.request.object, {"spec", "resourceGroups"})) {
    const FieldPath path = FieldPath("spec.resourceGroups").index(i++);
    const size_t covered = array_at(group, {"coveredResources"}).size();
    const json& flavors = array_at(group, {"flavors"});
    const bool same = std::all_of(flavors.begin(), flavors.end(), [&](const json& flavor) {
      return array_at(flavor, {"resources"}).size() == covered;
    });
    if (!same) {
      errors.push_back({path, FieldErrorType::kInvalid, "",
                        "flavors must have the same number of resources as the coveredResources"});
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "resource_groups_length",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "cohorts"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::resource_groups_length
