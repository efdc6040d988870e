// What must hold once all writes have ended, in a cluster where every job fits into its queue:
//
//   nothing waits in vain   no Workload waits for quota while none holds any; one whose backoff goes on waits for that
//   nothing is kept         a Workload that is evicted, or whose Job has ended or gone, holds no quota
//   nothing is late         no Workload is admitted without ready pods for longer than waitForPodsReady allows, no
//                           waiter waits for its group longer than the group's timeout
//   nothing fails silently  a gang's Job that has failed before it was released says GroupSchedulingTimeout
//   nothing is left         no object is being deleted
//
// It looks at what the API server stores, and knows nothing of muster's insides.
#pragma once

#include <string>
#include <vector>

#include "api/config/queue_settings.h"
#include "test/world/api_server.h"

namespace muster::world {

// One sentence each. To be asked when nothing has been written for minutes.
std::vector<std::string> find_unrest(const ApiServer& server, TimePoint now, const QueueSettings& settings);

}  // namespace muster::world
