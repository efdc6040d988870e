// Kueue's configuration: settings that muster does not support.
#include <algorithm>

#include "api/codec/json.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/preflight.h"

namespace muster::commands {

using nlohmann::json;

void preflight_settings(const PreflightContext& context) {
  const Configuration& kueue = context.settings.configuration.kueue;
  const json* map = kueue_config_map(context.dump);
  const std::string name = map == nullptr ? "the configuration" : object_name(*map);
  const auto said = [&](const std::string& setting) {
    return std::find(kueue.set_in_file.begin(), kueue.set_in_file.end(), setting) != kueue.set_in_file.end();
  };
  for (const std::string& setting : not_acting_yet(kueue))
    context.add(Severity::kChange, "setting-without-effect", {name + ": " + setting},
                "muster knows this setting and does not act on it",
                "docs/configuration.md says what each setting does");
  for (const std::string& gate : only_validating(kueue))
    context.add(Severity::kChange, "gate-without-effect", {name + ": " + gate},
                "muster checks what belongs to this feature and does not act on it", "");
  for (const std::string& sentence : outdated_gates(kueue.feature_gates.value_or(FeatureGateMap{})))
    context.add(Severity::kChange, "gate-without-effect", {name}, sentence, "");
  for (const std::string& warning : context.settings.warnings)
    context.add(Severity::kNote, "configuration", {name}, warning, "");
  if (said("namespace") && kueue.namespace_ != context.muster_namespace)
    context.add(Severity::kBlocker, "configuration-namespace", {name + ": namespace"},
                "muster would take " + kueue.namespace_ + " for the namespace that it runs in",
                "remove the setting from the copy that muster reads");
  if (kueue.leader_election.resource_name != manifests::kKueueLeaseName || !kueue.leader_election.leader_elect)
    context.add(
        Severity::kBlocker, "leader-election", {name + ": leaderElection"},
        "Kueue does not hold the Lease " + std::string(manifests::kKueueLeaseName) +
            ", with which muster detects that Kueue has stopped and prevents its return",
        "set leaderElect: true and resourceName: " + std::string(manifests::kKueueLeaseName) + ", and restart Kueue");
}

}  // namespace muster::commands
