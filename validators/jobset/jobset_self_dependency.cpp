// A replicated job that depends on itself waits for ever, and so does what depends on it. JobSet's API accepts it.
// Rejected, for example:
//
//   replicatedJobs: [{name: prep, ...}, {name: workers, dependsOn: [{name: workers, status: Ready}], ...}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_self_dependency {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  if (jobs::is_managed_elsewhere(review.request.object)) return errors;
  const json& replicated_jobs = jobs::replicated_jobs_of(review.request.object);
  // The first has no dependency at all (jobset_depends_on).
  for (size_t i = 1; i < replicated_jobs.size(); ++i) {
    const std::string_view name = string_at(replicated_jobs[i], {"name"});
    const json& depends_on = array_at(replicated_jobs[i], {"dependsOn"});
    for (size_t j = 0; j < depends_on.size(); ++j) {
      if (string_at(depends_on[j], {"name"}) != name) continue;
      const FieldPath path = FieldPath("spec.replicatedJobs").index(i).child("dependsOn").index(j).child("name");
      errors.push_back(
          invalid(path, name, std::string(name) + " would wait for itself and never start; remove the dependency"));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_self_dependency",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .native_jobsets = true,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::jobset_self_dependency
