#include "reconcilers/jobset/jobset_in_place.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "jobs/job_kind.h"

namespace muster::reconcilers {
namespace {

constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();

// The pods of one unfinished Job.
struct JobPods {
  const Job* job = nullptr;
  int64_t live = 0;
  int64_t succeeded = 0;

  bool complete() const {
    return live + std::max<int64_t>(succeeded, job->status.succeeded) ==
           pods_at_once(job->parallelism, job->completions);
  }
};

// What the live pods of the run say.
struct Census {
  std::map<std::string_view, JobPods> jobs;  // by uid
  int64_t live = 0;
  int64_t reported = 0;
  int32_t lowest = kLargest;
  int32_t highest = 0;
  int32_t container_restarts = 0;

  bool in_step() const { return live > 0 && reported == live && lowest == highest; }
};

// One more than the current attempt, which is the only one that an agent can begin.
int32_t highest_honest(const JobSet& jobset) {
  const std::optional<int32_t>& current = jobset.status.current_in_place_attempt;
  if (!current) return 0;
  return *current == kLargest ? kLargest : *current + 1;
}

Census count_pods(const JobSet& jobset, const JobSetAttempt& run, const std::vector<const InPlacePod*>& pods) {
  Census census;
  for (const Job* job : run.active) census.jobs[job->meta.uid].job = job;
  for (const InPlacePod* pod : pods) {
    const auto& controller = pod->meta.controller;
    if (!controller || jobs::job_type_of(*controller) != &kJobs) continue;
    const auto job = census.jobs.find(controller->uid);
    if (job == census.jobs.end()) continue;
    if (pod->succeeded()) ++job->second.succeeded;
    if (!pod->live()) continue;
    ++job->second.live;
    ++census.live;
    census.container_restarts = std::max(census.container_restarts, pod->container_restarts);
    if (!pod->attempt || *pod->attempt > highest_honest(jobset)) continue;
    ++census.reported;
    census.lowest = std::min(census.lowest, *pod->attempt);
    census.highest = std::max(census.highest, *pod->attempt);
  }
  return census;
}

// Every Job is there, and every pod of it.
bool all_there(const JobSet& jobset, const JobSetAttempt& run, const Census& census) {
  int64_t wanted = 0;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) wanted += replicated.replicas;
  return std::cmp_equal(run.active.size() + run.succeeded.size(), wanted) &&
         std::all_of(census.jobs.begin(), census.jobs.end(), [](const auto& entry) { return entry.second.complete(); });
}

// Restarts that maxRestarts does not limit. Each has made an attempt.
int64_t uncounted_restarts(const JobSetStatus& status) {
  int64_t restarts = status.restarts;
  for (const ReplicatedJobStatus& entry : status.replicated_jobs)
    restarts = std::accumulate(entry.job_restarts.begin(), entry.job_restarts.end(), restarts);
  return restarts - status.restarts_towards_max();
}

// Also where containers end before the barrier opens: then no attempt begins.
bool is_exhausted(const JobSet& jobset, const Census& census) {
  const int64_t most = jobset.failure->max_restarts;
  if (census.container_restarts > most) return true;
  return census.reported > 0 && census.highest - uncounted_restarts(jobset.status) > most;
}

}  // namespace

InPlaceBarrier barrier_of(const JobSet& set, const JobSetAttempt& run, const std::vector<const InPlacePod*>& pods) {
  InPlaceBarrier barrier{.current = set.status.current_in_place_attempt,
                         .previous = set.status.previous_in_place_attempt};
  const Census census = count_pods(set, run, pods);
  if (set.suspended) {
    if (census.live == 0) return {};
    return barrier;
  }
  if (is_exhausted(set, census)) {
    barrier.exhausted = true;
    return barrier;
  }
  if (census.reported == 0) return barrier;
  if (census.in_step() && all_there(set, run, census)) {
    barrier.current = std::max(barrier.current.value_or(0), census.highest);
  } else if (census.highest > 0) {
    barrier.previous = std::max(barrier.previous.value_or(0), census.highest - 1);
  }
  return barrier;
}

}  // namespace muster::reconcilers
