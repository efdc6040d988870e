// Where muster makes the Jobs of JobSets, one JobSet has at most 10,000: it creates each of
// them, and the API server stores it. Rejected, for example:
//
//   replicatedJobs: [{name: workers, replicas: 2147483647, ...}]
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "jobs/jobset_fields.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr int64_t kMostJobs = 10'000;

FieldErrors check(const Review& review) {
  if (is_managed_elsewhere(review.request.object)) return {};
  int64_t jobs = 0;
  size_t i = 0;
  for (const json& replicated_job : replicated_jobs_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i++).child("replicas");
    const int64_t replicas = replicas_of(replicated_job);
    jobs += replicas;
    if (jobs <= kMostJobs) continue;
    return {invalid(path, replicas,
                    "where muster runs JobSets, the replicatedJobs of one JobSet have at most " +
                        std::to_string(kMostJobs) +
                        " replicas together; raise the parallelism of the Jobs, or split the JobSet")};
  }
  return {};
}

}  // namespace

extern const Validator native_jobset_size = {
    .name = "native_jobset_size",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .native_jobsets = true,
};

}  // namespace muster
