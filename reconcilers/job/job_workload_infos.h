// What a Workload's admission gives to the pods of its job, and whether a Workload still
// is what its job asks for. Pure.
// Source: Kueue, jobframework and pkg/util/equality.
#pragma once

#include <vector>

#include "api/meta/object_pointers.h"
#include "base/result.h"
#include "reconcilers/job/job_workload_context.h"
#include "reconcilers/start/start_contribution.h"

namespace muster::reconcilers {

// One for each pod set of the admission, in order: what the contributions of the context add.
Result<std::vector<PodSetInfo>, NoStart> infos_of_admission(const JobContext& context, const Workload& workload);

// Pod sets and the longest time to run are the same; those of a job that runs as its
// admission has made them.
bool is_equivalent(const JobContext& context, const Workload& workload);

}  // namespace muster::reconcilers
