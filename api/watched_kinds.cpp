#include "api/watched_kinds.h"

#include "api/meta/constants.h"

namespace muster {

std::span<const WatchedKind> watched_kinds() {
  static constexpr WatchedKind kKinds[] = {
      {.type = &kNamespaces, .metadata_only = true},
      {.type = &kLimitRanges},
      {.type = &kJobs},
      {.type = &kJobSets, .optional = true},
      {.type = &kPods, .label_selector = kGroupLabel, .for_groups = true},
      {.type = &kConfigMaps, .label_selector = kGroupLabel, .for_groups = true},
      {.type = &kServices, .label_selector = kJobSetNameKey, .for_native_jobsets = true},
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
  return kKinds;
}

}  // namespace muster
