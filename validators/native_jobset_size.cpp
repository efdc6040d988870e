// Where muster makes the Jobs of JobSets it runs at most 10,000 of one JobSet at a time: it
// creates each of them, and the API server stores it. Whoever asks for more is told, for example:
//
//   replicatedJobs: [{name: workers, replicas: 2147483647, ...}]
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "jobs/jobset_fields.h"
#include "jobs/size_limit.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

FieldErrors check(const Review&) {
  return {};
}

std::vector<std::string> warn(const Review& review) {
  if (is_managed_elsewhere(review.request.object)) return {};
  int64_t jobs = 0;
  for (const json& replicated_job : replicated_jobs_of(review.request.object)) jobs += replicas_of(replicated_job);
  if (jobs <= kMostJobsOfAJobSet) return {};
  return {"spec.replicatedJobs: these are " + std::to_string(jobs) + " Jobs; muster runs at most " +
          std::to_string(kMostJobsOfAJobSet) + " of one JobSet at a time, and creates the others as those end"};
}

}  // namespace

extern const Validator native_jobset_size = {
    .name = "native_jobset_size",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .warn = warn,
    .native_jobsets = true,
};

}  // namespace muster
