// Two barriers in one pod would wait for each other. Rejected in a gang JobSet:
//
//   failurePolicy: {restartStrategy: InPlaceRestart}   JobSet's own barrier, an agent in each pod
//   muster.batch/group-scheduling-timeout-seconds among the annotations of a target's Job
//   template, which would make each of its Jobs a gang too
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators::group_scheduling_single_barrier {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const std::optional<jobs::GroupConfig> config = jobs::group_config(jobs::jobset, object);
  if (!config) return {};
  FieldErrors errors;
  if (string_at(object, {"spec", "failurePolicy", "restartStrategy"}) == "InPlaceRestart") {
    errors.push_back(invalid("spec.failurePolicy.restartStrategy", json("InPlaceRestart"),
                             "in-place restart holds pods at a barrier of its own, which cannot be combined with "
                             "starting as a group; use Recreate or BlockingRecreate, or remove the group scheduling "
                             "configuration"));
  }
  const json& replicated_jobs = array_at(object, {"spec", "replicatedJobs"});
  for (size_t i = 0; i < replicated_jobs.size(); ++i) {
    if (!config->has_target(string_at(replicated_jobs[i], {"name"}))) continue;
    const json& annotations = object_at(replicated_jobs[i], {"template", "metadata", "annotations"});
    if (!annotations.contains(kGroupTimeoutAnnotation)) continue;
    errors.push_back(forbidden(
        FieldPath("spec.replicatedJobs").index(i).child("template.metadata.annotations").key(kGroupTimeoutAnnotation),
        "the whole JobSet starts as a group already, and a pod can wait at one barrier only; remove the "
        "annotation here, or leave this replicated job out of the group's targets"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_single_barrier",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_single_barrier
