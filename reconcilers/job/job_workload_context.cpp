#include "reconcilers/job/job_workload_context.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/batch_job/batch_job.h"
#include "state/decision_log.h"
#include "state/metrics/measurements.h"

namespace muster::reconcilers {

using nlohmann::json;

ObjectEvent JobContext::event(std::string_view type, std::string_view reason, std::string note) const {
  return event_about(job.type(), job.meta(), type, reason, std::move(note));
}

Write patch_job(const JobContext& context, Verb verb, json patch) {
  return {.verb = verb, .target = context.key(), .body = with_version(context.job.meta(), std::move(patch))};
}

Write patch_workload(const Workload& workload, Verb verb, json patch) {
  return {
      .verb = verb, .target = key_of(kWorkloads, workload.meta), .body = with_version(workload.meta, std::move(patch))};
}

Write write_status(const Workload& workload, const WorkloadStatus& status) {
  Write write = patch_workload(workload, Verb::kPatchStatus, {{"status", status_patch(workload.status, status)}});
  write.measurements = state::measurements_of(workload, status);
  write.decisions = state::decisions_of(workload, status);
  return write;
}

bool has_pods(const JobContext& context) {
  if (context.job.active()) return true;
  if (context.job.type().plural != kJobSets.plural) return false;
  const ObjectMeta& meta = context.job.meta();
  const std::vector<const Job*> jobs = context.state.jobs_of_jobset(meta.ns, meta.name);
  return std::any_of(jobs.begin(), jobs.end(), [&](const Job* job) {
    const bool will_stop = !job->suspended && !jobs::end_of(*job);
    return will_stop || job->status.active > 0;
  });
}

}  // namespace muster::reconcilers
