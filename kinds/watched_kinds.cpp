#include "kinds/watched_kinds.h"

#include "api/meta/constants.h"
#include "api/pods/in_place_pod.h"

namespace muster {

namespace {

constexpr WatchedKind kKindsWithCode[] = {
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

std::span<const WatchedKind> kinds_with_code() {
  return kKindsWithCode;
}

}  // namespace muster
