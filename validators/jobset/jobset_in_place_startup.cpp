// The barrier of in-place restarts opens when all pods of the JobSet are there. If Jobs are created only after the end
// of other Jobs, or after the readiness of pods whose workers the barrier holds back, it never opens. Rejected, for
// example, where an agent is a sidecar of the leader's pods:
//
//   failurePolicy: {restartStrategy: InPlaceRestart}
//   replicatedJobs: [{name: leader, ...}, {name: worker, dependsOn: [{name: leader, status: Ready}], ...}]
//
// Where the agent is the main container of a pod, the pod is ready while it waits.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_in_place_startup {
namespace {

using nlohmann::json;

// A sidecar with a startup probe: the containers after it start when the probe succeeds.
bool waits_before_ready(const json& replicated_job) {
  const json& containers = array_at(replicated_job, {"template", "spec", "template", "spec", "initContainers"});
  return std::any_of(containers.begin(), containers.end(), [](const json& container) {
    return string_at(container, {"restartPolicy"}) == "Always" && !object_at(container, {"startupProbe"}).empty();
  });
}

constexpr std::string_view kReason =
    "in-place restart holds all pods back until every pod of the JobSet exists, so that these pods would wait for one "
    "another; start all replicated jobs at once, or use Recreate or BlockingRecreate";

FieldErrors closed_barriers(const json& jobset) {
  if (!jobs::restarts_in_place(jobset)) return {};
  FieldErrors errors;
  const json& replicated_jobs = jobs::replicated_jobs_of(jobset);
  const bool held = std::any_of(replicated_jobs.begin(), replicated_jobs.end(), waits_before_ready);
  if (held && replicated_jobs.size() > 1 &&
      string_at(jobset, {"spec", "startupPolicy", "startupPolicyOrder"}) == "InOrder")
    errors.push_back(forbidden("spec.startupPolicy.startupPolicyOrder", std::string(kReason)));
  size_t i = 0;
  for (const json& replicated_job : replicated_jobs) {
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i++).child("dependsOn");
    size_t j = 0;
    for (const json& dependency : array_at(replicated_job, {"dependsOn"})) {
      const json* on = jobs::find_replicated_job(jobset, string_at(dependency, {"name"}));
      const bool ends = string_at(dependency, {"status"}) == "Complete";
      if (ends || (on != nullptr && waits_before_ready(*on)))
        errors.push_back(forbidden(path.index(j), std::string(kReason)));
      ++j;
    }
  }
  return errors;
}

FieldErrors check(const Review& review) {
  if (jobs::is_managed_elsewhere(review.request.object)) return {};
  return new_errors(review, closed_barriers);
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_in_place_startup",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
    .of_native_jobsets = true,
};

}  // namespace muster::validators::jobset_in_place_startup
