// One reconciliation of one job and its Workloads: the input of the parts of job_workload.cpp, and their common
// writes.
#pragma once

#include <optional>
#include <string>

#include "api/meta/object_pointers.h"
#include "jobs/management.h"
#include "jobs/queued_job.h"
#include "reconcilers/reconciler.h"
#include "reconcilers/start/start_contributions.h"
#include "reconcilers/step.h"
#include "reconcilers/workload/workload_editor.h"

namespace muster::reconcilers {

struct JobContext : ReconcileContext {
  const jobs::QueuedJob& job;
  // To what starts with an admission.
  StartContributions contributions = all_start_contributions();

  ObjectKey key() const { return key_of(job.type(), job.meta()); }
  Timestamp stamp() const { return to_timestamp(now.wall); }
  ObjectEvent event(EventReason reason, std::string note) const;
};

// Of what the job has done: its times are measured.
WorkloadEditor edit_workload(const JobContext& context, const Workload& workload);
// Of Finished.
std::string_view finished_reason(const jobs::JobEnd& job_end);
// Finishes the Workload, with an event or none.
void finish_workload(const JobContext& context, const Workload& workload, std::string_view reason,
                     std::string_view message, Plan& plan, std::optional<ObjectEvent> event = {});

// An event, if its owners are too many to say in which queue it is.
void tell_of_owners(const JobContext& context, const jobs::Undecided& undecided, Plan& plan);

// Whether pods of the job run or end, and need its quota. A JobSet's status shows the state of its Jobs late; the Jobs
// themselves have the current state. Pods in their grace period count, and kDeadNodeBound longer: then their Node is
// gone or unreachable.
bool has_pods(const JobContext& context);
// The same of the Jobs of a JobSet, or of a Job itself, alone.
bool jobs_have_pods(const JobContext& context);
// The same before quota is released. The status of a described kind counts no pods that end, and some that start: the
// API server is asked for them, and while it has not answered the plan asks or waits, and the answer is true.
bool needs_quota(const JobContext& context, Plan& plan);
// Whether a job that has ended has left pods: Jobs of a JobSet that are yet to be deleted, and pods that the controller
// of a described kind lets run.
bool has_left_pods(const JobContext& context, Plan& plan);
// Graces end without an event: asks for the time of the next end.
void wait_for_graces(const JobContext& context, Plan& plan);
// Pods that have not ended although they count no longer; nullopt: none.
std::optional<ObjectEvent> overstay_event(const JobContext& context);

// Merge patches that hold only for the version that was read.
Write patch_job(const JobContext& context, Verb verb, nlohmann::json patch);
Write patch_workload(const Workload& workload, Verb verb, nlohmann::json patch);

}  // namespace muster::reconcilers
