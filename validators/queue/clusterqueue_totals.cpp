// Limits of the size of one queue: the scheduler checks each flavor and resource for each Workload. Rejected:
// more than 256 flavors or resources in all groups together, or more than 512 quotas in one group.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_totals {
namespace {

using nlohmann::json;

FieldError too_much(const FieldPath& path, const std::string& what, size_t limit, size_t total) {
  return invalid(path, total, what + " must be ≤ " + std::to_string(limit) + ", got " + std::to_string(total));
}

FieldErrors check(const Review& review) {
  const FieldPath path("spec.resourceGroups");
  FieldErrors errors;
  size_t all_flavors = 0, all_resources = 0, i = 0;
  for (const json& group : array_at(review.request.object, {"spec", "resourceGroups"})) {
    const FieldPath group_path = path.index(i++);
    const json& flavors = array_at(group, {"flavors"});
    all_flavors += flavors.size();
    all_resources += array_at(group, {"coveredResources"}).size();
    size_t quotas = 0;
    for (const json& flavor : flavors) quotas += array_at(flavor, {"resources"}).size();
    if (quotas > 512) {
      errors.push_back(too_much(group_path, "number of flavor-resource combinations in a resourceGroup", 512, quotas));
    }
  }
  if (all_flavors > 256) {
    errors.push_back(too_much(path, "total number of flavors across all resourceGroups", 256, all_flavors));
  }
  if (all_resources > 256) {
    errors.push_back(too_much(path, "total number of covered resources across all resourceGroups", 256, all_resources));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_totals",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::clusterqueue_totals
