// One reconciliation of one job and its Workloads: the input of the parts of job_workload.cpp, and their common
// writes.
#pragma once

#include <string>

#include "api/workload.h"
#include "jobs/queued_job.h"
#include "reconcilers/reconciler.h"
#include "reconcilers/step.h"

namespace muster::reconcilers {

struct JobContext : ReconcileContext {
  const jobs::QueuedJob& job;

  ObjectKey key() const { return key_of(job.type(), job.meta()); }
  Timestamp stamp() const { return to_timestamp(now.wall); }
  ObjectEvent event(std::string_view type, std::string_view reason, std::string note) const;
};

// Whether pods of the job run or end, and need its quota. A JobSet's status shows the state of its Jobs late; the Jobs
// themselves have the current state.
bool has_pods(const JobContext& context);

// Merge patches that hold only for the version that was read.
Write patch_job(const JobContext& context, Verb verb, nlohmann::json patch);
Write patch_workload(const Workload& workload, Verb verb, nlohmann::json patch);
Write write_status(const Workload& workload, const WorkloadStatus& status);

}  // namespace muster::reconcilers
