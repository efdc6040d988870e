// Kinds whose pods serve instead of coming to an end. Of Deployments muster sees what its webhooks are asked about;
// StatefulSets and LeaderWorkerSets it watches, as DescribedJob.
#pragma once

#include <string_view>

#include "api/meta/resource_type.h"

namespace muster {

struct KindDescription;

inline constexpr ResourceType kDeployments{"apps", "v1", "deployments", "Deployment", true, "apps/v1"};
inline constexpr ResourceType kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet", true, "apps/v1"};
inline constexpr ResourceType kLeaderWorkerSets{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets",
                                                "LeaderWorkerSet",          true, "leaderworkerset.x-k8s.io/v1"};

inline constexpr std::string_view kDeploymentFramework = "deployment";
inline constexpr std::string_view kStatefulSetFramework = "statefulset";
inline constexpr std::string_view kLeaderWorkerSetFramework = "leaderworkerset.x-k8s.io/leaderworkerset";

// Labels and annotations of the LeaderWorkerSet controller on pods: the name of the set, the number of the group, and
// on each worker the name of its leader.
inline constexpr std::string_view kLeaderWorkerSetPrefix = "leaderworkerset.sigs.k8s.io/";
inline constexpr std::string_view kLeaderWorkerSetName = "leaderworkerset.sigs.k8s.io/name";
inline constexpr std::string_view kLeaderWorkerGroup = "leaderworkerset.sigs.k8s.io/group-index";
inline constexpr std::string_view kLeaderWorkerIndex = "leaderworkerset.sigs.k8s.io/worker-index";
inline constexpr std::string_view kLeaderName = "leaderworkerset.sigs.k8s.io/leader-name";
inline constexpr std::string_view kStatefulSetPodIndex = "apps.kubernetes.io/pod-index";
inline constexpr std::string_view kRevisionHash = "controller-revision-hash";

// How such a set is read; nullptr: another kind. Not in described_kinds(): separate code handles it
// (reconcilers/serving).
const KindDescription* find_serving_description(std::string_view group, std::string_view kind);

}  // namespace muster
