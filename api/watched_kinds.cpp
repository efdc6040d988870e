#include "api/watched_kinds.h"

#include <iterator>
#include <vector>

#include "api/kinds/kind_description.h"
#include "api/kinds/serving_types.h"
#include "api/meta/constants.h"
#include "api/pods/in_place_pod.h"

namespace muster {

namespace {

constexpr WatchedKind kWatchedKinds[] = {
    {.type = &kNamespaces, .metadata_only = true},
    {.type = &kLimitRanges},
    {.type = &kJobs},
    {.type = &kJobSets, .optional = true},
    {.type = &kPods, .label_selector = kGroupLabel, .for_groups = true},
    // Pods of gangs and pods in queues are two watches, and those that restart in place a third: a selector cannot
    // express "or".
    {.type = &kQueuedPods, .label_selector = "kueue.x-k8s.io/managed=true", .framework = "pod"},
    {.type = &kInPlacePods, .label_selector = kInPlaceRestartLabel, .for_native_jobsets = true},
    {.type = &kConfigMaps, .label_selector = kGroupLabel, .for_groups = true},
    {.type = &kServices, .label_selector = kJobSetNameKey, .for_native_jobsets = true},
    {.type = &kPersistentVolumeClaims,
     .metadata_only = true,
     .label_selector = kJobSetNameKey,
     .for_native_jobsets = true},
    {.type = &kCustomResourceDefinitions,
     .field_selector = "metadata.name=jobsets.jobset.x-k8s.io",
     .managed_fields = true},
    {.type = &kWorkloads},
    {.type = &kLocalQueues},
    {.type = &kClusterQueues},
    {.type = &kCohorts},
    {.type = &kResourceFlavors},
    {.type = &kAdmissionChecks},
    {.type = &kWorkloadPriorityClasses},
    {.type = &kPriorityClasses},
    {.type = &kRuntimeClasses},
};

}  // namespace

std::span<const WatchedKind> watched_kinds() {
  static std::vector<WatchedKind> kinds = [] {
    std::vector<WatchedKind> with_sets(std::begin(kWatchedKinds), std::end(kWatchedKinds));
    for (const ResourceType* type : {&kStatefulSets, &kLeaderWorkerSets}) {
      const KindDescription& kind = *find_serving_description(type->group, type->kind);
      with_sets.push_back({.type = &kind.type(), .optional = type == &kLeaderWorkerSets, .framework = kind.framework});
    }
    return with_sets;
  }();
  // More can be installed while the process starts.
  static size_t described = 0;
  for (; described < described_kinds().size(); ++described) {
    const KindDescription& kind = *described_kinds()[described];
    kinds.push_back({.type = &kind.type(), .optional = true, .framework = kind.framework});
    for (const ConsultedKind& consulted : kind.consulted)
      kinds.push_back({.type = &consulted.type(), .optional = true, .framework = kind.framework});
  }
  return kinds;
}

}  // namespace muster
