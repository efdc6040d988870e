// A covered resource must have the name of a resource, and neither a resource nor a flavor can occur twice in a
// queue or cohort. Rejected, for example:
//
//   coveredResources: [cpu, cpu]
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/label_rules.h"
#include "validators/validator.h"

namespace muster::validators::resource_groups_names {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  std::set<std::string_view> resources, flavors;
  size_t i = 0;
  for (const json& group : array_at(review.request.object, {"spec", "resourceGroups"})) {
    const FieldPath path = FieldPath("spec.resourceGroups").index(i++);
    size_t j = 0;
    for (const json& covered : array_at(group, {"coveredResources"})) {
      const std::string field = path.child("coveredResources").index(j++);
      const auto* name = covered.get_ptr<const std::string*>();
      if (name == nullptr) continue;
      append(errors, check_label_name(field, *name));
      if (!resources.insert(*name).second) errors.push_back(duplicate(field, *name));
    }
    j = 0;
    for (const json& flavor : array_at(group, {"flavors"})) {
      const std::string field = path.child("flavors").index(j++).child("name");
      const std::string_view name = string_at(flavor, {"name"});
      if (!flavors.insert(name).second) errors.push_back(duplicate(field, name));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "resource_groups_names",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "cohorts"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::resource_groups_names
