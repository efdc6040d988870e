// A gang's targets are replicated jobs of its JobSet, each listed once. Rejected, for
// example, where the JobSet has `workers` only:
//
//   groupSchedulingConfig: {timeoutAfterSeconds: 300, targetReplicatedJobs: [wrokers]}
#include <nlohmann/json.hpp>

#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_targets {
namespace {

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return {};
  return jobs::read_group_scheduling(*kind, review.request.object).target_errors;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_targets",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_targets
