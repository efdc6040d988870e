// A replicated job can depend only on replicated jobs that are listed before it (the API also lets it name
// itself). So the first has no dependency, not even an empty list. Rejected, for example, if ps is last:
//
//   replicatedJobs: [{name: leader, ...}, {name: worker, dependsOn: [{name: ps, status: Ready}], ...}, {name: ps, ...}]
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_depends_on {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& replicated_jobs = jobs::replicated_jobs_of(review.request.object);
  FieldErrors errors;
  std::set<std::string_view> listed;
  for (size_t i = 0; i < replicated_jobs.size(); ++i) {
    const std::string_view name = string_at(replicated_jobs[i], {"name"});
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i).child("dependsOn");
    const json* depends_on = find_path(replicated_jobs[i], {"dependsOn"});
    if (i == 0 && depends_on && !depends_on->is_null()) {
      errors.push_back(forbidden(path, "DependsOn can't be set for the first ReplicatedJob"));
    }
    listed.insert(name);
    size_t j = 0;
    for (const json& dependency : array_at(replicated_jobs[i], {"dependsOn"})) {
      const std::string_view on = string_at(dependency, {"name"});
      const FieldPath at = path.index(j++).child("name");
      if (listed.contains(on)) continue;
      errors.push_back(invalid(
          at, on, "replicatedJob: " + std::string(name) + " cannot depend on replicatedJob: " + std::string(on)));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_depends_on",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_depends_on
