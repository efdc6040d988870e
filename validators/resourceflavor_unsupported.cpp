// Topology-aware scheduling is not muster's. Rejected, for example:
//
//   topologyName: default
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

FieldErrors unsupported_in(const json& flavor) {
  if (string_at(flavor, {"spec", "topologyName"}).empty()) return {};
  return {
      forbidden("spec.topologyName",
                "topology-aware scheduling is not supported by muster; leave the topology out, pods are then placed "
                "by the scheduler alone")};
}

// What was there before may stay, so that the rest of the object can still be changed.
FieldErrors check(const Review& review) {
  FieldErrors errors = unsupported_in(review.request.object);
  if (errors.empty() || review.request.operation != Operation::kUpdate) return errors;
  const FieldErrors before = unsupported_in(review.request.old_object);
  std::erase_if(
      errors, [&](const FieldError& error) { return std::find(before.begin(), before.end(), error) != before.end(); });
  return errors;
}

}  // namespace

extern const Validator resourceflavor_unsupported;
const Validator resourceflavor_unsupported = {
    .name = "resourceflavor_unsupported",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster
