// Which Workload is the job's: exactly one that asks for what the job asks for. Others
// are updated while nothing depends on them, or deleted.
// Source: Kueue, jobframework.
#pragma once

#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

struct [[nodiscard]] WorkloadChoice {
  // kDone: something must be written or waited for first: the plan has it, and it is all.
  Step step = Step::kContinue;
  const Workload* workload = nullptr;  // none: there is none yet
};

WorkloadChoice keep_one_workload(const JobContext& context, Plan& plan);
// Deletes a Workload that does not match the job (any more), with an event.
void remove_workload(const JobContext& context, const Workload& workload, Plan& plan);

}  // namespace muster::reconcilers
