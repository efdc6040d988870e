// Starting and stopping a job: each step is one write that depends on what is stored and
// nothing else, so that whoever comes after a crash goes on where it ended.
// Source: Kueue, jobframework and jobs/job (the three writes of a stop).
#pragma once

#include <string>

#include "reconcilers/job/job_workload_context.h"

namespace muster {

// Takes the next step of a stop; kContinue: it is stopped. A Job is first suspended
// and marked as stopping; then its start time is taken away, without which Kubernetes
// does not let its template change; then, when no pod of it runs any more, the template
// becomes what `like` holds (nullptr: nobody knows) and the mark goes. A Job that was never started takes one write, a
// JobSet too. `note` is told when it is done.
Step advance_stop(const JobContext& context, const Workload* like, std::string note, Plan& plan);

// Starts a job whose Workload is admitted, in one write, or in two where its kind wants it so. What can never be
// started ends its Workload.
void start(const JobContext& context, const Workload& workload, Plan& plan);

// Takes back what the last start wrote into a stopped job, where that can go only after its pods. While quota is held
// it may be the first step of a start.
Step take_back_leftovers(const JobContext& context, Plan& plan);

}  // namespace muster
