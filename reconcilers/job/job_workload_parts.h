// Reports of every job to its Workload: steps of job_workload.cpp that other reconcilers of jobs use too. Source:
// Kueue, jobframework.
#pragma once

#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

// The job has ended, and so has its Workload.
void tell_end(const JobContext& context, const Workload& workload, const jobs::JobEnd& job_end, Plan& plan);
// Quota of pods that have ended.
Step tell_reclaimable(const JobContext& context, const Workload& workload, Plan& plan);
// The condition PodsReady, if a setting or the queue needs it.
Step tell_ready(const JobContext& context, const Workload& workload, Plan& plan);
// Of a job that is not admitted: its queue has possibly changed, and its checks can have news.
void wait_for_admission(const JobContext& context, const Workload& workload, Plan& plan);

}  // namespace muster::reconcilers
