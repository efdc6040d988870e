#include "reconcilers/workload/unready_parts.h"

#include "api/requests.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "jobs/jobset/startup_gates.h"

namespace muster::reconcilers {
namespace {

std::string share(int64_t ready, int64_t wanted, const char* what) {
  return std::to_string(ready) + " of " + std::to_string(wanted) + " " + what + " are ready";
}

std::string unready_in(const Job& job) {
  const int64_t ready = int64_t{job.status.ready} + job.status.succeeded;
  const int64_t wanted = pods_at_once(job.parallelism, job.completions);
  return ready < wanted ? share(ready, wanted, "pods") : "";
}

std::string unready_in(const JobSet& jobset) {
  constexpr size_t kMostNamed = 3;
  std::string text;
  size_t named = 0;
  for (size_t i = 0; i < jobset.replicated_jobs.size() && named < kMostNamed; ++i) {
    const ReplicatedJob& replicated = jobset.replicated_jobs[i];
    const ReplicatedJobStatus* counts = jobs::find_counts(jobset.status.replicated_jobs, replicated.name);
    const int64_t ready = counts == nullptr ? 0 : int64_t{counts->ready} + counts->succeeded;
    if (ready >= replicated.replicas || !jobs::closed_until(jobset, i).empty()) continue;
    text += (named++ == 0 ? "" : ", ") + replicated.name + ": " + share(ready, replicated.replicas, "Jobs");
  }
  return text;
}

}  // namespace

std::string unready_parts(const Workload& workload, const state::ClusterState& state) {
  const auto& owner = workload.meta.controller;
  if (!owner) return "";
  const ResourceType* type = jobs::job_type_of(*owner);
  if (type == &kJobs) {
    const Job* job = state.find<Job>(workload.meta.ns, owner->name);
    return job != nullptr && job->meta.uid == owner->uid ? unready_in(*job) : "";
  }
  if (type == &kJobSets) {
    const JobSet* jobset = state.find<JobSet>(workload.meta.ns, owner->name);
    return jobset != nullptr && jobset->meta.uid == owner->uid ? unready_in(*jobset) : "";
  }
  return "";
}

}  // namespace muster::reconcilers
