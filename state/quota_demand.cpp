#include "state/quota_demand.h"

#include <set>

#include "api/workload.h"
#include "state/cluster_state.h"
#include "state/demand/demand_source.h"
#include "state/pod_requests.h"
#include "state/unsupported.h"

namespace muster::state {
namespace {

// The requests of a Workload, as quota counts them, and the reason why it can never run.
struct Demand {
  std::vector<Requests> per_pod;
  std::string misconfigured;
};

Demand demand_of(const Workload& workload, const ClusterState& state, const QueueSettings& settings,
                 DemandSources sources) {
  DemandDraft draft;
  draft.pods.reserve(workload.pod_sets.size());
  for (const PodSet& pod_set : workload.pod_sets) {
    const PodSpec& spec = *pod_set.pod_template.spec;
    draft.pods.push_back({pod_set, spec, pod_resources_in(spec, workload.meta.ns, state, sources)});
  }
  const DemandContext context{workload.meta.ns, state, settings};
  for (const DemandSource* source : sources) {
    if (source->add != nullptr) source->add(context, draft);
  }
  Demand demand{.per_pod = {}, .misconfigured = std::move(draft.misconfigured)};
  demand.per_pod.reserve(draft.pods.size());
  for (const PodDemand& pod : draft.pods) demand.per_pod.push_back(quota_requests(pod.requests, settings));
  return demand;
}

}  // namespace

// Workloads with quota and finished Workloads are counted by their admission, not by their requests.
bool asks_for_quota(const Workload& workload) {
  return !workload.finished() && !(workload.has_quota_reserved() && workload.status.admission);
}

QuotaDemand quota_demand_of(const Workload& workload, const ClusterState& state, const QueueSettings& settings,
                            DemandSources sources) {
  Demand demand = asks_for_quota(workload) ? demand_of(workload, state, settings, sources) : Demand();
  if (std::string why = why_never_admitted(workload, settings); !why.empty()) demand.misconfigured = std::move(why);
  return {std::move(demand.per_pod), std::move(demand.misconfigured), can_be_stopped(workload, settings)};
}

std::vector<Requests> quota_requests_of(const Workload& workload, const ClusterState& state,
                                        const QueueSettings& settings, DemandSources sources) {
  return demand_of(workload, state, settings, sources).per_pod;
}

// Several sources can name one Workload.
std::vector<WorkloadPtr> workloads_affected_by(const TypedObject& changed, const ClusterState& state,
                                               DemandSources sources) {
  std::vector<WorkloadPtr> workloads;
  for (const DemandSource* source : sources) {
    if (source->affected != nullptr) source->affected(changed, state, workloads);
  }
  std::set<std::string> seen;
  std::erase_if(workloads, [&](const WorkloadPtr& workload) {
    return !asks_for_quota(*workload) || !seen.insert(path_of(workload->meta)).second;
  });
  return workloads;
}

}  // namespace muster::state
