// A claim of volumeClaimPolicies is created in the namespace of its JobSet; the template cannot name another
// namespace. In JobSet this is a rule of the schema. Rejected, for example:
//
//   volumeClaimPolicies: [{templates: [{metadata: {name: data, namespace: other}}]}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::volume_claim_namespace {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& policy : array_at(review.request.object, {"spec", "volumeClaimPolicies"})) {
    const FieldPath path = FieldPath("spec.volumeClaimPolicies").index(i++).child("templates");
    size_t j = 0;
    for (const json& claim : array_at(policy, {"templates"})) {
      const std::string_view ns = string_at(claim, {"metadata", "namespace"});
      const FieldPath at = path.index(j++).child("metadata").child("namespace");
      if (!ns.empty()) errors.push_back(invalid(at, ns, "namespace cannot be set for VolumeClaimPolicies templates"));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "volume_claim_namespace",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kSchema,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::volume_claim_namespace
