// Whether a job that is being deleted, or is gone, still uses its quota: its own status does not say so any more. Its
// Jobs do, where it is a JobSet, and the API server's list of its pods (reconcilers/pod_search.h). So neither a grace
// period, nor a finalizer of another owner, nor --cascade=orphan makes pods that no quota counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobs/job_kind.h"
#include "jobs/queued_job.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// Jobs that a JobSet has lost, or that are left of it, change without an event for it or its Workload.
constexpr Duration kJobsInterval = std::chrono::seconds(5);

struct DeletedJob {
  ObjectKey asker;                      // the key that is reconciled
  const Workload* workload = nullptr;   // one of its
  const jobs::JobKind* kind = nullptr;  // nullptr: not known, so it can be any whose pods have its uid
  std::string ns{};
  std::string name{};
  std::string uid{};
  std::string selector{};  // of its pods, where the job itself says it
};

// The job of a Workload by its controller; without one by its name and its label job-uid. The name of a Workload that
// muster has made says which kind the job was of.
DeletedJob gone_job_of(const Workload& workload);

// The same for one that is there, as far as labels say which pods are its. Where its status does not say it any more,
// its Workload does.
DeletedJob present_job_of(const jobs::QueuedJob& job, const ObjectKey& asker, const state::ClusterState& state);
// The Jobs of a JobSet, also those that have lost their controller.
std::vector<const Job*> jobs_of(const DeletedJob& job, const state::ClusterState& state);

// By the API server alone. While it is not known, or there are some, the plan asks or waits, and the answer is true.
bool finds_pods(const DeletedJob& job, const ReconcileContext& context, Plan& plan);
// Of a JobSet by its Jobs as well.
bool has_pods_left(const DeletedJob& job, const ReconcileContext& context, Plan& plan);

// Suspends the Jobs that a JobSet has left behind.
void suspend_orphans(const DeletedJob& job, const ReconcileContext& context, Plan& plan);

}  // namespace muster::reconcilers
