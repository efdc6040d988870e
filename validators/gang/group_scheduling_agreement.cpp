// A JobSet can have the same values in spec.groupSchedulingConfig and in annotations (so that one manifest
// serves clusters with and without the field), but not two different values. Rejected, for example:
//
//   metadata: {annotations: {muster.batch/group-scheduling-timeout-seconds: "300"}}
//   spec: {groupSchedulingConfig: {timeoutAfterSeconds: 600}}

#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_agreement {
namespace {

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return {};
  return jobs::read_group_scheduling(*kind, review.request.object).disagreements;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_agreement",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_agreement
