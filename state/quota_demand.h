// What quota a Workload asks for, and why it can never get it. Pure.
#pragma once

#include <string>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/meta/object_pointers.h"
#include "api/requests.h"

namespace muster::state {

class ClusterState;

// It is pending: neither finished nor with quota.
bool asks_for_quota(const Workload& workload);

// What quota is sought for, per pod of each pod set: with the defaults of LimitRanges and RuntimeClasses, and after
// the transformations that are configured.
std::vector<Requests> quota_requests_of(const Workload& workload, const ClusterState& state,
                                        const QueueSettings& settings);

// What the scheduler gets of a Workload beside its object; see Scheduler::put().
struct QuotaDemand {
  std::vector<Requests> per_pod;
  std::string misconfigured;
  bool can_be_stopped = true;
};
QuotaDemand quota_demand_of(const Workload& workload, const ClusterState& state, const QueueSettings& settings);

}  // namespace muster::state
