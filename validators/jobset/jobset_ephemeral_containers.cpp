// The API server accepts no Job whose pod template has ephemeral containers: they are added to running pods. A JobSet
// with such a template would try to make its Jobs for ever. Rejected, for example:
//
//   replicatedJobs: [{name: w, template: {spec: {template: {spec: {ephemeralContainers: [{name: debug, ...}]}}}}}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/job_kind.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_ephemeral_containers {
namespace {

FieldErrors check(const Review& review) {
  FieldErrors errors;
  if (jobs::is_managed_elsewhere(review.request.object)) return errors;
  for (const jobs::ConstPodTemplateRef& ref : jobs::jobset.read_pod_templates(review.request.object)) {
    if (array_at(*ref.template_json, {"spec", "ephemeralContainers"}).empty()) continue;
    errors.push_back(forbidden(ref.path.child("spec").child("ephemeralContainers"),
                               "ephemeral containers not allowed in pod template (kubectl debug adds them to a "
                               "running pod)"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_ephemeral_containers",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_ephemeral_containers
