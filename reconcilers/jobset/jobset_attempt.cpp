#include "reconcilers/jobset/jobset_attempt.h"

#include <algorithm>
#include <optional>
#include <set>

#include "api/meta/constants.h"
#include "base/whole_number.h"
#include "jobs/jobset/jobset_fields.h"
#include "reconcilers/job/jobset_part.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {
namespace {

// Of the current attempt of the JobSet and of the Job itself. A Job without the label of its attempt belongs to the
// first attempt.
bool is_of_present_attempt(const JobSet& jobset, const Job& job) {
  const std::optional<int32_t> attempt = whole_number<int32_t>(job.meta.label(kRestartAttemptLabel));
  if (!attempt || *attempt < jobset.status.restarts) return false;
  const std::string_view own = job.meta.label(kJobRestartAttemptKey);
  const int32_t index = whole_number<int32_t>(job.meta.label(kJobIndexKey)).value_or(-1);
  const int32_t restarts = jobset.status.job_restarts_of(job.meta.label(kReplicatedJobNameKey), index);
  return restarts == 0 || whole_number<int32_t>(own).value_or(0) >= restarts;
}

// Of the pods that can run at once, all are ready or have succeeded.
bool is_ready(const Job& job) {
  return int64_t{job.status.ready} + job.status.succeeded >= pods_at_once(job.parallelism, job.completions);
}

void count_active(const Job& job, ReplicatedJobStatus& counts) {
  if (is_ready(job)) ++counts.ready;
  if (job.status.active > 0) ++counts.active;
  if (job.suspended) ++counts.suspended;
}

// `counts`, constant or not; nullptr when none has the name.
template <class Counts>
auto find_in(Counts& counts, std::string_view name) -> decltype(counts.data()) {
  const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& entry) { return entry.name == name; });
  return found == counts.end() ? nullptr : &*found;
}

// Existing Jobs that are being replaced individually.
int64_t being_replaced(const JobSet& jobset, const JobSetAttempt& run) {
  if (!jobset.restarts_single_jobs()) return 0;
  std::set<std::string_view> present;
  for (const auto* jobs : {&run.active, &run.succeeded, &run.failed}) {
    for (const Job* job : *jobs) present.insert(job->meta.name);
  }
  int64_t replaced = 0;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    for (int32_t index = 0; index < replicated.replicas; ++index) {
      if (jobset.status.job_restarts_of(replicated.name, index) == 0) continue;
      if (!present.contains(jobs::child_job_name(jobset.meta.name, replicated.name, index))) ++replaced;
    }
  }
  return replaced;
}

// All Jobs of the attempt exist, and none waits to be resumed.
bool all_released(const JobSet& jobset, const JobSetAttempt& run) {
  int64_t wanted = 0;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) wanted += replicated.replicas;
  const size_t present = run.active.size() + run.succeeded.size() + run.failed.size();
  return std::cmp_greater_equal(present, wanted - being_replaced(jobset, run)) &&
         std::none_of(run.active.begin(), run.active.end(), [](const Job* job) { return job->suspended; });
}

}  // namespace

JobSetAttempt jobs_of(const JobSet& jobset, const state::ClusterState& state) {
  JobSetAttempt run;
  for (const Job* job : state.by(state::kJobsByJobSet, {jobset.meta.ns, jobset.meta.name})) {
    if (job->meta.controller->uid != jobset.meta.uid) continue;
    // Jobs that the JobSet does not ask for are forged, or belong to an earlier, larger version of it.
    if (!is_of_present_attempt(jobset, *job) || replicated_job_of(jobset, *job) == nullptr) {
      run.older.push_back(job);
    } else if (job->failed()) {
      run.failed.push_back(job);
    } else if (job->complete()) {
      run.succeeded.push_back(job);
    } else {
      run.active.push_back(job);
    }
  }
  return run;
}

std::vector<ReplicatedJobStatus> count_jobs(const JobSet& jobset, const JobSetAttempt& run) {
  std::vector<ReplicatedJobStatus> counts;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    ReplicatedJobStatus& entry = counts.emplace_back(ReplicatedJobStatus{.name = replicated.name});
    const ReplicatedJobStatus* stored = jobs::find_counts(jobset.status.replicated_jobs, replicated.name);
    if (stored == nullptr) continue;
    entry.job_restarts = stored->job_restarts;
    entry.job_restarts_count_towards_max = stored->job_restarts_count_towards_max;
  }
  const auto of = [&](const Job* job) { return find_in(counts, job->meta.label(kReplicatedJobNameKey)); };
  for (const Job* job : run.active) {
    if (ReplicatedJobStatus* entry = of(job)) count_active(*job, *entry);
  }
  for (const Job* job : run.succeeded) {
    if (ReplicatedJobStatus* entry = of(job)) ++entry->succeeded;
  }
  for (const Job* job : run.failed) {
    if (ReplicatedJobStatus* entry = of(job)) ++entry->failed;
  }
  return counts;
}

bool same_counts(const std::vector<ReplicatedJobStatus>& one, const std::vector<ReplicatedJobStatus>& other) {
  const auto covers = [](const std::vector<ReplicatedJobStatus>& left, const std::vector<ReplicatedJobStatus>& right) {
    return std::all_of(left.begin(), left.end(), [&](const ReplicatedJobStatus& entry) {
      const ReplicatedJobStatus* twin = jobs::find_counts(right, entry.name);
      return entry == (twin == nullptr ? ReplicatedJobStatus{.name = entry.name} : *twin);
    });
  };
  return covers(one, other) && covers(other, one);
}

jobs::StartupGates startup_gates(const JobSet& jobset, const JobSetAttempt& run,
                                 const std::vector<ReplicatedJobStatus>& counts) {
  return jobs::startup_gates(jobset, counts, all_released(jobset, run));
}

bool settled(const JobSet& jobset, const jobs::StartupGates& gates, const std::vector<ReplicatedJobStatus>& counts) {
  for (size_t i = 0; i < jobset.replicated_jobs.size(); ++i) {
    if (!gates.open[i]) continue;
    const ReplicatedJobStatus* have = jobs::find_counts(counts, jobset.replicated_jobs[i].name);
    const int64_t known = have == nullptr ? 0 : jobs::started(*have) + have->suspended;
    if (known < jobset.replicated_jobs[i].replicas) return false;
  }
  return true;
}

}  // namespace muster::reconcilers
