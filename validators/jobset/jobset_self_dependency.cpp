// A replicated job that depends on itself waits for ever, and so does what depends on it. JobSet accepts it, and so
// does muster, with a warning. For example:
//
//   replicatedJobs: [{name: prep, ...}, {name: workers, dependsOn: [{name: workers, status: Ready}], ...}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_self_dependency {
namespace {

using nlohmann::json;

FieldErrors check(const Review&) {
  return {};
}

std::vector<std::string> warn(const Review& review) {
  std::vector<std::string> warnings;
  if (jobs::is_managed_elsewhere(review.request.object)) return warnings;
  const json& replicated_jobs = jobs::replicated_jobs_of(review.request.object);
  // The first has no dependency at all (jobset_depends_on).
  for (size_t i = 1; i < replicated_jobs.size(); ++i) {
    const std::string name(string_at(replicated_jobs[i], {"name"}));
    const json& depends_on = array_at(replicated_jobs[i], {"dependsOn"});
    for (size_t j = 0; j < depends_on.size(); ++j) {
      if (string_at(depends_on[j], {"name"}) != name) continue;
      const FieldPath path = FieldPath("spec.replicatedJobs").index(i).child("dependsOn").index(j).child("name");
      warnings.push_back(path.text() + ": " + name + " waits for itself and never starts; remove the dependency");
    }
  }
  return warnings;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_self_dependency",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_self_dependency
