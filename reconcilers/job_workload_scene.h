// One look at one job and the Workloads it has: what the parts of job_workload.cpp are
// given, and the writes that they have in common.
#pragma once

#include <string>

#include "api/workload.h"
#include "jobs/queued_job.h"
#include "reconcilers/reconciler.h"

namespace muster {

struct JobScene {
  const QueuedJob& job;
  const ClusterState& state;
  const QueueSettings& settings;
  Now now;

  ObjectKey key() const { return {&job.type(), job.meta().ns, job.meta().name}; }
  Timestamp stamp() const { return to_timestamp(now.wall); }
  ObjectEvent event(std::string_view type, std::string_view reason, std::string note) const;
};

// "team-a/job-train-1a2b3", as people know Workloads.
std::string path_of(const Workload& workload);

// Merge patches that hold only for the version that was read: a conflict is planned anew.
Write patch_job(const JobScene& scene, Verb verb, nlohmann::json patch);
Write patch_workload(const Workload& workload, Verb verb, nlohmann::json patch);
Write write_status(const Workload& workload, const WorkloadStatus& status);
// Lets a Workload go: nothing is written when our finalizer is not there.
void release_finalizer(const Workload& workload, Plan& plan, std::vector<ObjectEvent> events = {});

}  // namespace muster
