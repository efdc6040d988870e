// What muster cannot give to pods: devices that they claim, and a place in a topology. A Workload that asks for one
// stays pending. Conditions, `muster explain`, the webhooks and `muster preflight` say it in the same words.
#pragma once

#include <string_view>

namespace muster {

inline constexpr std::string_view kClaimsDevices =
    "the pods claim devices (resourceClaims), and muster does not count devices";
inline constexpr std::string_view kClaimsDevicesRemedy =
    "Create the job again without resourceClaims. Devices that a device plugin offers are resources: request them in "
    "resources.limits.";

inline constexpr std::string_view kAsksForTopology =
    "the pods ask for a place in a topology; muster knows no topologies";
inline constexpr std::string_view kAsksForTopologyRemedy =
    "Create the job again without the annotations kueue.x-k8s.io/podset-* of its pods. Affinity and "
    "topologySpreadConstraints place them.";

}  // namespace muster
