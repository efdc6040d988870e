#include "reconcilers/job/jobset_part.h"

#include <algorithm>
#include <optional>

#include "api/meta/constants.h"
#include "base/whole_number.h"
#include "jobs/jobset/jobset_fields.h"
#include "state/pod_requests.h"

namespace muster::reconcilers {
namespace {

bool requests_no_more(const state::ClusterState& state, const Job& job, const PodSpec& counted) {
  const PodSpecPtr& spec = job.pod_template.spec == nullptr ? job.requests : job.pod_template.spec;
  if (spec == nullptr || (spec->resource_claims && !counted.resource_claims)) return false;
  return state::is_within(to_requests(state::pod_requests_in(*spec, job.meta.ns, state)),
                          to_requests(state::pod_requests_in(counted, job.meta.ns, state)));
}

}  // namespace

const ReplicatedJob* replicated_job_of(const JobSet& jobset, const Job& job) {
  const ReplicatedJob* replicated = jobset.find(job.meta.label(kReplicatedJobNameKey));
  const std::optional<int32_t> index = whole_number<int32_t>(job.meta.label(kJobIndexKey));
  const bool wanted = replicated != nullptr && index && *index >= 0 && *index < replicated->replicas &&
                      job.meta.name == jobs::child_job_name(jobset.meta.name, replicated->name, *index);
  return wanted ? replicated : nullptr;
}

bool is_within_jobset(const state::ClusterState& state, const Job& job, const JobSet& jobset,
                      const std::vector<PodSet>& pod_sets) {
  const ReplicatedJob* replicated = replicated_job_of(jobset, job);
  if (replicated == nullptr || job.meta.controller->uid != jobset.meta.uid) return false;
  const auto counted = std::find_if(pod_sets.begin(), pod_sets.end(),
                                    [&](const PodSet& pod_set) { return pod_set.name == replicated->name; });
  if (counted == pod_sets.end()) return false;
  return pods_at_once(job.parallelism, job.completions) <=
             pods_at_once(replicated->parallelism, replicated->completions) &&
         requests_no_more(state, job, *counted->pod_template.spec);
}

}  // namespace muster::reconcilers
