// What a described object asks for, as a Workload's pod sets say it.
#pragma once

#include <vector>

#include "api/pod_set.h"
#include "kinds/described_job.h"

namespace muster::jobs {

// One pod set for each of the object's, in its order.
std::vector<PodSet> pod_sets_of(const DescribedJob& job);

}  // namespace muster::jobs
