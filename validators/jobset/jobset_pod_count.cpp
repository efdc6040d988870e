// The pods of one replicated job are counted in 32 bits. Rejected, for example:
//
//   replicatedJobs: [{name: leader, replicas: 65536, template: {spec: {parallelism: 65536, ...}}}]
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/size_limit.h"
#include "validators/validator.h"

namespace muster::validators::jobset_pod_count {
namespace {

using nlohmann::json;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& replicated_job : jobs::replicated_jobs_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i++).child("replicas");
    const int64_t replicas = jobs::replicas_of(replicated_job);
    const int64_t parallelism = jobs::parallelism_of(replicated_job).value_or(1);
    if (replicas * parallelism <= kMost) continue;
    errors.push_back(invalid(path, replicas,
                             "the product of replicas and parallelism must not exceed " + std::to_string(kMost) +
                                 " for replicatedJob '" + std::string(string_at(replicated_job, {"name"})) + "'"));
  }
  return errors;
}

// The allowed number can still be larger than muster's limit of running Jobs.
std::vector<std::string> warn(const Review& review) {
  if (jobs::is_managed_elsewhere(review.request.object)) return {};
  int64_t jobs = 0;
  for (const json& replicated_job : jobs::replicated_jobs_of(review.request.object))
    jobs += jobs::replicas_of(replicated_job);
  if (jobs <= jobs::kMostJobsOfAJobSet) return {};
  return {"spec.replicatedJobs: these are " + std::to_string(jobs) + " Jobs; muster runs at most " +
          std::to_string(jobs::kMostJobsOfAJobSet) + " of one JobSet at a time, and creates the others as those end"};
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_pod_count",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_pod_count
