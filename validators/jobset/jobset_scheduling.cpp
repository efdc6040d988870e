// Workload-aware scheduling (JobSet KEP-969) makes objects of kinds that Kubernetes has from 1.37 on. Rejected, for
// example:
//
//   scheduling: {schedulingPolicy: {gang: {}}}
//
// A JobSet that is older than muster can still be changed and ended.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_scheduling {
namespace {

using nlohmann::json;

FieldErrors scheduling_in(const json& jobset) {
  const json* scheduling = find_path(jobset, {"spec", "scheduling"});
  if (scheduling == nullptr || scheduling->is_null()) return {};
  return {forbidden("spec.scheduling",
                    "muster does not make Workloads and PodGroups of scheduling.k8s.io for a JobSet; create them and "
                    "name the PodGroup in spec.template.spec.schedulingGroup of each template, or let the pods start "
                    "as a group (annotation muster.batch/group-scheduling-timeout-seconds)")};
}

FieldErrors check(const Review& review) {
  if (jobs::is_managed_elsewhere(review.request.object)) return {};
  return new_errors(review, scheduling_in);
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_scheduling",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_scheduling
