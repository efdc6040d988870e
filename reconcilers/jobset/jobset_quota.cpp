#include "reconcilers/jobset/jobset_quota.h"

#include "reconcilers/job/job_workload_owner.h"
#include "reconcilers/job/job_workload_standing.h"
#include "reconcilers/job/jobset_part.h"
#include "state/index/indexes.h"

namespace muster::reconcilers {

JobSetQuota::Answer JobSetQuota::ask() const {
  const auto job = find_job(key_of(kJobSets, jobset_.meta), context_.state);
  if (!job || !context_.queues().rules.frameworks.contains(job->kind().framework)) return {.runs = true};
  const JobContext context{context_, *job};
  const auto standing = standing_of(context);
  if (!standing || *standing == Standing::kHeld) return {};
  if (*standing == Standing::kFree || *standing == Standing::kOutside) return {.runs = true};
  if (*standing == Standing::kCovered) return {.runs = true, .counted = job->pod_set_shapes(context_.queues().rules)};
  for (const Workload* workload : context_.state.by(state::kWorkloadsByOwner, {"", jobset_.meta.uid})) {
    if (lets_run(context, *workload)) return {.runs = true, .counted = workload->pod_sets};
  }
  return {};
}

const JobSetQuota::Answer& JobSetQuota::answer() {
  if (!answer_) answer_ = ask();
  return *answer_;
}

bool JobSetQuota::allows_start() {
  return answer().runs;
}

bool JobSetQuota::is_queued_by_itself(const Job& job) const {
  const auto queued = find_job(key_of(kJobs, job.meta), context_.state);
  if (!queued || !context_.queues().rules.frameworks.contains(queued->kind().framework)) return false;
  const JobContext context{context_, *queued};
  const auto standing = standing_of(context);
  return !standing || *standing == Standing::kQueued || *standing == Standing::kHeld;
}

JobSetQuota::Start JobSetQuota::judge(const Job& job) {
  if (!answer().counted) return is_queued_by_itself(job) ? Start::kLater : Start::kNow;
  return is_within_jobset(context_.state, job, jobset_, *answer().counted) ? Start::kNow : Start::kNotSo;
}

}  // namespace muster::reconcilers
