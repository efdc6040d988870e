// The topology of a flavor cannot change: Workloads were placed by it. (Kueue has this rule in its CRD.) Rejected, for
// example:
//
//   topologyName: a -> topologyName: b
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_topology_immutable {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json* before = find_path(review.request.old_object, {"spec"});
  // Kueue's rule belongs to the spec, and does not run if the spec is removed.
  const json* after = find_path(review.request.object, {"spec"});
  if (after == nullptr || before == nullptr || string_at(*before, {"topologyName"}).empty()) return {};
  if (string_at(*after, {"topologyName"}) == string_at(*before, {"topologyName"})) return {};
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
