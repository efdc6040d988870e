// What quota a Workload asks for, and why it can never get it: a list of sources (demand/demand_source.h) adds it up.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/meta/object_pointers.h"
#include "api/requests.h"
#include "kinds/typed_object.h"
#include "state/demand/demand_sources.h"

namespace muster::state {

class ClusterState;

// It is pending: neither finished nor with quota.
bool asks_for_quota(const Workload& workload);

// What quota is sought for, per pod of each pod set: the requests of all sources, after the transformations that are
// configured.
std::vector<Requests> quota_requests_of(const Workload& workload, const ClusterState& state,
                                        const QueueSettings& settings, DemandSources sources = all_demand_sources());

// What the scheduler gets of a Workload beside its object; see Scheduler::put().
struct QuotaDemand {
  std::vector<Requests> per_pod;
  std::string misconfigured;
  bool can_be_stopped = true;
};
QuotaDemand quota_demand_of(const Workload& workload, const ClusterState& state, const QueueSettings& settings,
                            DemandSources sources = all_demand_sources());

// The pending Workloads whose demand can differ after this object came, changed or went; each once, in the order of
// the sources.
std::vector<WorkloadPtr> workloads_affected_by(const TypedObject& changed, const ClusterState& state,
                                               DemandSources sources = all_demand_sources());

}  // namespace muster::state
