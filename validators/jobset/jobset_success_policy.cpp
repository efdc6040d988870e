// A success policy names replicated jobs of the same JobSet. Rejected, for example, if the JobSet has no replicated job
// with the name `missing`:
//
//   successPolicy: {operator: Any, targetReplicatedJobs: [missing]}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_success_policy {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  const auto names = jobs::replicated_job_names_of(jobset);
  const FieldPath path("spec.successPolicy.targetReplicatedJobs");
  FieldErrors errors;
  size_t i = 0;
  for (const json& target : array_at(jobset, {"spec", "successPolicy", "targetReplicatedJobs"})) {
    const std::string_view name = string_at(target, {});
    const FieldPath at = path.index(i++);
    if (names.contains(name)) continue;
    errors.push_back(invalid(
        at, target, "invalid replicatedJob name '" + std::string(name) + "' does not appear in .spec.ReplicatedJobs"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_success_policy",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_success_policy
