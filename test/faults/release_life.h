// A life with jobs that a tenant deletes while they run, so that their pods go on: a finalizer of the tenant's holds
// the job, its pods are orphaned, have a long grace period or are on a node that is gone, or its Workload is deleted.
// Jobs of a higher priority want their quota.
#pragma once

#include "test/faults/lives.h"

namespace muster::test {

Outcome live_release(const Scene& scene);

}  // namespace muster::test
