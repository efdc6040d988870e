#include "api/watched_kinds.h"

#include <iterator>
#include <vector>

#include "api/kinds/kind_description.h"
#include "api/meta/constants.h"

namespace muster {

namespace {

constexpr WatchedKind kKinds[] = {
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

}  // namespace

std::span<const WatchedKind> watched_kinds() {
  static std::vector<WatchedKind> kinds(std::begin(kKinds), std::end(kKinds));
  // More may be installed while the process starts.
  const auto described = described_kinds();
  while (kinds.size() < std::size(kKinds) + described.size()) {
    const KindDescription& kind = *described[kinds.size() - std::size(kKinds)];
    kinds.push_back({.type = &kind.type(), .optional = true, .framework = kind.framework});
  }
  return kinds;
}

}  // namespace muster
