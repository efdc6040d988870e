// Whether a flavor counts the room on its nodes is "true" or "false", and on any other object it would have no effect.
// Rejected, for example, on a ResourceFlavor:
//
//   muster.batch/fit-on-nodes: "yes"
//
// and on a ClusterQueue or a Job, with any value.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "validators/validator.h"

namespace muster::validators::resourceflavor_fit_on_nodes {
namespace {

using nlohmann::json;

FieldErrors errors_in(const json& object) {
  const json* value = find_path(object, {"metadata", "annotations", kFitOnNodesAnnotation});
  if (value == nullptr) return {};
  const std::string field = FieldPath("metadata.annotations").key(kFitOnNodesAnnotation);
  if (string_at(object, {"kind"}) != "ResourceFlavor")
    return {forbidden(field, "acts only on a ResourceFlavor, where an administrator sets it; remove it")};
  if (*value == "true" || *value == "false") return {};
  return {invalid(field, *value, "must be \"true\" or \"false\"")};
}

FieldErrors check(const Review& review) {
  return new_errors(review, errors_in);
}

}  // namespace

extern const Validator rule = {
    .name = "resourceflavor_fit_on_nodes",
    .matches = {{"kueue.x-k8s.io", "resourceflavors"},
                {"kueue.x-k8s.io", "clusterqueues"},
                {"kueue.x-k8s.io", "cohorts"},
                {"kueue.x-k8s.io", "localqueues"},
                {"kueue.x-k8s.io", "workloads"},
                {"batch", "jobs"},
                {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::resourceflavor_fit_on_nodes
