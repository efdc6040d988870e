// Kueue's configuration: settings that muster does not support.
#include <algorithm>

#include "api/codec/json.h"
#include "api/config/jobset_configuration.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/preflight.h"

namespace muster::commands {

using nlohmann::json;

std::vector<std::string> gates_missing_in(const MusterConfiguration& muster, const JobSetConfiguration& theirs) {
  std::vector<std::string> missing;
  for (const auto& [gate, enabled] : theirs.feature_gates) {
    const auto own = muster.jobset_feature_gates.find(gate);
    const bool on = gate == kJobSetTlsOptionsGate || (own != muster.jobset_feature_gates.end() && own->second);
    if (enabled && !on) missing.push_back(gate);
  }
  return missing;
}

void preflight_jobset_settings(const PreflightContext& context) {
  const json* map = jobset_config_map(context.dump);
  if (map == nullptr) return;
  const auto theirs = jobset_configuration_of_text(string_at(*map, {"data", kKueueConfigKey}));
  if (!theirs)
    return context.add(Severity::kChange, "jobset-configuration", {object_name(*map)},
                       "where muster runs JobSets it cannot do what this says: " + theirs.error().message,
                       "let JobSet's controller stay, or do without it");
  if (std::string idle = theirs->idle_settings(); !idle.empty())
    context.add(Severity::kNote, "jobset-configuration", {object_name(*map)}, idle, "");
  for (const std::string& gate : gates_missing_in(context.settings.configuration.muster, *theirs))
    context.add(Severity::kChange, "jobset-gate", {object_name(*map) + ": featureGates." + gate},
                "the gate is on for JobSet's controller, and would be off where muster runs JobSets",
                "before muster adopt --jobset add this Configuration to muster's file as a document, or set "
                "jobSetFeatureGates in MusterConfiguration");
}

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
