// Topology-aware scheduling is not muster's. Rejected, for example:
//
//   topologyName: default
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_unsupported {
namespace {

using nlohmann::json;

FieldErrors unsupported_in(const json& flavor) {
  if (string_at(flavor, {"spec", "topologyName"}).empty()) return {};
  return {
      forbidden("spec.topologyName",
                "topology-aware scheduling is not supported by muster; leave the topology out, pods are then placed "
                "by the scheduler alone")};
}

FieldErrors check(const Review& review) {
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_unsupported",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::resourceflavor_unsupported
