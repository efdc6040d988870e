// If group scheduling is off (groupScheduling: false), muster has no right to see pods and would never open a
// barrier, so no job can request a barrier. Rejected there, for example:
//
//   groupSchedulingConfig: {timeoutAfterSeconds: 300}

#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_off {
namespace {

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr || review.settings.group_scheduling) return {};
  const jobs::GroupReading reading = jobs::read_group_scheduling(*kind, review.request.object);
  const std::string why =
      "group scheduling is off in this cluster (groupScheduling: false), and its pods would wait for ever; remove this";
  FieldErrors errors;
  if (reading.field.present) errors.push_back(forbidden("spec.groupSchedulingConfig", why));
  if (reading.annotations.present)
    errors.push_back(forbidden(FieldPath("metadata.annotations").key(kGroupTimeoutAnnotation), why));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_off",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_off
