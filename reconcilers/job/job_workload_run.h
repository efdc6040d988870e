// Starting and stopping a job: each step is one write that depends only on stored objects, so that any
// replica can continue after a crash. Source: Kueue, jobframework and jobs/job (the three writes of a
// stop).
#pragma once

#include <string>

#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

// Takes the next step of a stop; kContinue: it is stopped. A Job is first suspended and marked as
// stopping; then its start time is removed, because Kubernetes otherwise refuses changes of its template;
// then, when none of its pods runs, the template becomes the value of `like` (nullptr: unknown) and the
// mark is removed. A Job that was never started needs one write, a JobSet too. `note` is recorded at the
// end.
Step advance_stop(const JobContext& context, const Workload* like, std::string note, Plan& plan);

// Starts a job whose Workload is admitted, in one write, or in two if its kind needs it. The Workload of a job that can
// never start is finished.
void start(const JobContext& context, const Workload& workload, Plan& plan);

// Takes back what the last start wrote into a stopped job, where that can go only after its pods. While quota is held
// it can be the first step of a start.
Step take_back_leftovers(const JobContext& context, Plan& plan);

}  // namespace muster::reconcilers
