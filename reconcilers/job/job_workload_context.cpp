#include "reconcilers/job/job_workload_context.h"

#include <nlohmann/json.hpp>

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

}  // namespace muster::reconcilers
