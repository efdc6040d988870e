// With JobSet's gate ElasticJobSet the number of pods of Indexed Jobs can change while the JobSet runs:
// parallelism and completions together, down to one. Rejected, for example:
//
//   parallelism: 4, completions: 4 -> parallelism: 2, completions: 4
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/feature_gates.h"
#include "api/meta/object_meta.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_elastic {
namespace {

using nlohmann::json;

bool is_finished(const json& jobset) {
  const Conditions conditions = read_conditions(array_at(jobset, {"status", "conditions"}));
  return condition_is_true(conditions, "Completed") || condition_is_true(conditions, "Failed");
}

void check_change(const json& old_job, const json& job, bool finished, const FieldPath& path, FieldErrors& errors) {
  const std::optional<int64_t> parallelism = jobs::parallelism_of(job), completions = jobs::completions_of(job);
  const bool parallelism_changed = parallelism != jobs::parallelism_of(old_job);
  const bool completions_changed = completions != jobs::completions_of(old_job);
  if (!parallelism_changed && !completions_changed) return;
  if (finished) {
    errors.push_back(forbidden(path,
                               "Cannot mutate parallelism or completions when JobSet is in a terminal state (Completed "
                               "or Failed)"));
    return;
  }
  if (parallelism_changed && parallelism && *parallelism < 1) {
    errors.push_back(invalid(path.child("parallelism"), *parallelism, "parallelism must be >= 1"));
  }
  if (completions_changed && completions && *completions < 1) {
    errors.push_back(invalid(path.child("completions"), *completions, "completions must be >= 1"));
  }
  if (parallelism && completions && *parallelism != *completions) {
    errors.push_back(invalid(path.child("completions"), *completions,
                             "completions must be equal to parallelism for Elastic Indexed Jobs"));
  }
}

FieldErrors check(const Review& review) {
  if (!review.settings.jobset_enabled(kElasticJobSetGate)) return {};
  const json& old_object = review.request.old_object;
  const bool finished = is_finished(old_object);
  FieldErrors errors;
  size_t i = 0;
  for (const json& job : jobs::replicated_jobs_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i++).child("template").child("spec");
    const json* old_job = jobs::find_replicated_job(old_object, string_at(job, {"name"}));
    if (old_job && jobs::is_indexed(job)) check_change(*old_job, job, finished, path, errors);
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_elastic",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_elastic
