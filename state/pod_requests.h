// What the pods of a Workload ask of a queue's quota, in this cluster: what the API server makes of their template,
// then with transformed resources and without excluded ones.
// Source: Kueue, KEP-2937.
#pragma once

#include <string_view>

#include "api/config/queue_settings.h"
#include "api/pods/pod_requests.h"
#include "api/requests.h"
#include "state/demand/demand_sources.h"

namespace muster::state {

class ClusterState;

// The resources of a pod that the API server makes of the template in this namespace.
PodResources pod_resources_in(const PodSpec& spec, std::string_view ns, const ClusterState& state,
                              DemandSources sources = all_demand_sources());
// What a node must have free for one pod of the template.
ResourceList pod_requests_in(const PodSpec& spec, std::string_view ns, const ClusterState& state);

// Whether no amount is larger than the one of `room`, where a missing one is 0.
bool is_within(const Requests& requests, const Requests& room);

// What a node must have free, as quota counts it: transformed, then without excluded resources.
Requests quota_requests(const ResourceList& pod_requests, const QueueSettings& settings);

}  // namespace muster::state
