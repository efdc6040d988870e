// The pods of an elastic Job (annotation kueue.x-k8s.io/elastic-job: "true") wait
// behind a scheduling gate, so that pods of a larger parallelism start only when
// their slice is admitted. Source: Kueue, ElasticJobsViaWorkloadSlices.
#pragma once

#include "mutators/mutator.h"

namespace muster {
extern const Mutator elastic_scheduling_gate;
}  // namespace muster
