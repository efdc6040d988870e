// The topology of a flavor cannot change: Workloads were placed by it. (Kueue has this rule in its CRD.)
// Rejected, for example:
//
//   topologyName: a -> topologyName: b
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_topology_immutable {
namespace {

FieldErrors check(const Review& review) {
  // Kueue's rule belongs to the spec, and does not run if the spec is removed.
  if (!find_path(review.request.object, {"spec"})) return {};
  const std::string_view before = string_at(review.request.old_object, {"spec", "topologyName"});
  if (before.empty() || before == string_at(review.request.object, {"spec", "topologyName"})) return {};
  return {{"spec", FieldErrorType::kInvalid, "", "topologyName is immutable when topologyName is set"}};
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_topology_immutable",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::resourceflavor_topology_immutable
