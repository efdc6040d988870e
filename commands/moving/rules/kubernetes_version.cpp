#include "commands/moving/rules/kubernetes_version.h"

#include <string>
#include <string_view>

namespace muster::commands {
namespace {

// A part of muster that needs a newer Kubernetes than kOldestMinor.
struct VersionedFeature {
  int minor;                 // from which on it is there
  std::string_view feature;  // "The policy lean-workloads"
  std::string_view without;  // what an older Kubernetes means: a sentence without its full stop
};

constexpr VersionedFeature kFeatures[] = {
    {36, "The policy lean-workloads", "Workloads keep their managedFields, and each of their writes costs more"},
    {36, "In-place restart of JobSets", "leave the gate InPlaceRestart off: containers have no restart rules"},
};

std::string name_of(int minor) {
  return "Kubernetes 1." + std::to_string(minor);
}

}  // namespace

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
