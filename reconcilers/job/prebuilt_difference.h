// A Workload that a user has made for a job (the annotation kueue.x-k8s.io/prebuilt-workload-name)
// against that job: users omit the defaults of the API server for pods, and need the name of the
// differing field.
#pragma once

#include <string>

#include "reconcilers/job/job_workload_context.h"

namespace muster::reconcilers {

// The Workload with the defaults of containers that the API server gives the job's, where it
// says nothing: terminationMessagePath and -Policy, imagePullPolicy, protocols of ports and
// versions of field references. A field that is there stays as it is.
Workload with_container_defaults(const Workload& workload);

// The first field in which it differs from the job, with both values:
// "spec.podSets[0].count is 2, and the job's is 1". Empty when none of those that a user writes does.
std::string difference_of_prebuilt(const JobContext& context, const Workload& workload);

}  // namespace muster::reconcilers
