// The relation of a job to queues, and the handling of jobs without their own Workload:
// parts of other jobs, and jobs that left the queues. Pure. Source: Kueue, jobframework
// (a child of a managed job is suspended unless the topmost one has an admitted
// Workload).
#pragma once

#include "jobs/management.h"
#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

enum class Standing {
  kOutside,  // of managedJobsNamespaceSelector
  kFree,     // in no queue
  kQueued,   // with its own Workload
  kCovered,  // part of a job whose Workload is admitted
  // Must not run: part of one whose Workload is not admitted, or does not count its pods; or
  // what its pods ask for is not known.
  kHeld,
};
Result<Standing, jobs::Undecided> standing_of(const JobContext& context);

// The job that it is part of, if that is queued.
jobs::MaybeAncestor ancestor_of(const JobContext& context);

// The question before each write of muster's that starts, resumes, makes or grows pods: can this job run now, with the
// pod sets that it has? Yes for a job that no queue counts (kOutside, kFree), and for a part that the Workload of the
// whole has room for (kCovered). Of a queued job: whether this Workload is admitted and has the job's pod sets.
bool lets_run(const JobContext& context, const Workload& workload);
// Why a part must not run although the whole is admitted; empty: it can, or the whole is not admitted.
std::string excess_below(const JobContext& context, const jobs::ManagedAncestor& whole);

// Suspends what is kHeld.
void hold(const JobContext& context, Plan& plan);
// Own Workloads that a job no longer needs: finished with it, or deleted while it does not run. While it runs, they
// keep their quota, as its pods keep their nodes.
void leave_queue(const JobContext& context, Plan& plan);

}  // namespace muster::reconcilers
