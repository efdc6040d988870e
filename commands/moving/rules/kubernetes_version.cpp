#include "commands/moving/rules/kubernetes_version.h"

#include <string>

namespace muster::commands {
namespace {

constexpr VersionedFeature kFeatures[] = {
    {36, "The policy lean-workloads", "Workloads keep their managedFields, and each of their writes costs more"},
    {36, "In-place restart of JobSets", "leave the gate InPlaceRestart off: containers have no restart rules"},
};

std::string name_of(int minor) {
  return "Kubernetes 1." + std::to_string(minor);
}

}  // namespace

std::span<const VersionedFeature> versioned_features() {
  return kFeatures;
}

void judge_kubernetes(std::optional<int> minor, bool with_features, std::vector<Finding>& findings) {
  if (!minor) return;
  if (*minor < kOldestMinor) {
    findings.push_back({Severity::kBlocker,
                        "kubernetes-version",
                        {name_of(*minor)},
                        "muster needs " + name_of(kOldestMinor) + " or later",
                        "upgrade the cluster"});
    return;
  }
  for (const VersionedFeature& feature : kFeatures) {
    if (with_features && *minor < feature.minor)
      findings.push_back(
          {Severity::kNote,
           "kubernetes-feature",
           {name_of(*minor)},
           std::string(feature.feature) + " needs " + name_of(feature.minor) + ": " + std::string(feature.without),
           ""});
  }
}

}  // namespace muster::commands
