// A gang needs a barrier in its pod templates and muster's own eyes on its pods, which only Jobs and JobSets have.
// Rejected, for example:
//
//   kind: PyTorchJob
//   metadata: {annotations: {muster.batch/group-scheduling-timeout-seconds: "300"}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_kind {
namespace {

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (kind == nullptr || kind == &jobs::batch_job || kind == &jobs::jobset) return {};
  return new_errors(review, [&](const nlohmann::json& object) {
    FieldErrors errors;
    for (std::string_view key : {kGroupTimeoutAnnotation, kGroupTargetsAnnotation, kGroupOnTimeoutAnnotation}) {
      if (annotation(object, key))
        errors.push_back(
            forbidden(FieldPath("metadata.annotations").key(key),
                      "a " + std::string(kind->type.kind) + " cannot start as a group; only Jobs and JobSets can"));
    }
    return errors;
  });
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_kind",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_kind
