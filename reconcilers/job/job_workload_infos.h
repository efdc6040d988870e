// What a Workload's admission gives to the pods of its job, and whether a Workload still
// is what its job asks for. Pure.
// Source: Kueue, jobframework and pkg/util/equality.
#pragma once

#include <string>
#include <vector>

#include "api/workload.h"
#include "base/result.h"
#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

struct NoInfos {
  std::string message;
  // It comes with time: a flavor is missing. Otherwise waiting does not help.
  bool retry = false;
};

// One for each pod set of the admission, in order: node labels and tolerations of its flavors, the values of
// admission checks, and the labels for counting these pods. If two flavors set a node label, the resource first by
// name wins.
Result<std::vector<jobs::PodSetInfo>, NoInfos> infos_of_admission(const JobContext& context, const Workload& workload);

// Pod sets and the longest time to run are the same; those of a job that runs as its
// admission has made them.
bool is_equivalent(const JobContext& context, const Workload& workload);

}  // namespace muster::reconcilers
