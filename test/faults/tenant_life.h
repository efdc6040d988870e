// A life with a hostile tenant (test/world/tenant.h) beside another team that runs its jobs in the same ClusterQueue.
#pragma once

#include "test/faults/lives.h"

namespace muster::test {

Outcome live_tenant(const Scene& scene);

}  // namespace muster::test
