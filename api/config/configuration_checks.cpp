#include <algorithm>

#include "api/config/configuration.h"
#include "base/did_you_mean.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"
#include "kinds/unqueued_kinds.h"

namespace muster {

FieldErrors apply_feature_gates(Configuration& configuration, std::string_view flag) {
  FieldErrors errors = check_feature_gates(flag, configuration.feature_gates);
  if (errors.empty() && !flag.empty()) configuration.feature_gates = *parse_feature_gates(flag);
  return errors;
}

bool visibility_on_demand_enabled(const Configuration& configuration) {
  const FeatureGates gates = resolve_feature_gates(configuration.feature_gates.value_or(FeatureGateMap{}));
  return gates.enabled(Gate::kVisibilityOnDemand);
}

FieldErrors check_visibility(const LoadedConfiguration& configuration, std::vector<std::string>& warnings) {
  FieldErrors errors;
  if (!configuration.muster.aggregated_visibility) {
    for (const std::string& path : configuration.kueue.set_in_file) {
      if (!path.starts_with("visibilityServer")) continue;
      warnings.push_back(path + " has no effect, because aggregatedVisibility of MusterConfiguration is false");
    }
  } else if (!visibility_on_demand_enabled(configuration.kueue)) {
    errors.push_back(invalid("aggregatedVisibility", true,
                             "the feature gate VisibilityOnDemand is false, so there is no visibility API; set the "
                             "gate to true or leave the setting out"));
  }
  return errors;
}

namespace {

// Whether a path of the file, a setting or a block that is written empty, reaches a setting that acts.
bool reaches_acting(const std::vector<ConfigSetting>& settings, const std::string& path) {
  return std::any_of(settings.begin(), settings.end(), [&](const ConfigSetting& setting) {
    return setting.acts && (setting.path == path || setting.path.starts_with(path + "."));
  });
}

// "AllAlpha: true" enables every alpha feature, also features that muster does not have.
bool group_changes_idle_gates(GateStage stage, bool enabled, const FeatureGateMap& named) {
  const auto gates = known_feature_gates();
  return std::any_of(gates.begin(), gates.end(), [&](const FeatureGate& gate) {
    return gate.stage == stage && gate.use == GateUse::kNone && gate.default_enabled != enabled &&
           !named.contains(gate.name);
  });
}

}  // namespace

std::vector<std::string> not_acting_yet(const Configuration& configuration) {
  const std::vector<ConfigSetting> settings = configuration_settings();
  std::vector<std::string> idle;
  for (const std::string& path : configuration.set_in_file) {
    const bool gates_or_type = path == "featureGates" || path == "apiVersion" || path == "kind";
    if (!gates_or_type && !reaches_acting(settings, path)) idle.push_back(path);
  }
  const FeatureGateMap gates = configuration.feature_gates.value_or(FeatureGateMap{});
  for (const auto& [name, enabled] : gates) {
    const FeatureGate* gate = find_feature_gate(name);
    const bool group = (name == "AllAlpha" && group_changes_idle_gates(GateStage::kAlpha, enabled, gates)) ||
                       (name == "AllBeta" && group_changes_idle_gates(GateStage::kBeta, enabled, gates));
    const bool idle_gate = gate != nullptr && gate->use == GateUse::kNone && gate->past == GatePast{};
    if (group || idle_gate) idle.push_back("featureGates." + name);
  }
  std::sort(idle.begin(), idle.end());
  return idle;
}

std::vector<std::string> only_validating(const Configuration& configuration) {
  std::vector<std::string> gates;
  for (const auto& [name, enabled] : configuration.feature_gates.value_or(FeatureGateMap{})) {
    const FeatureGate* gate = find_feature_gate(name);
    if (enabled && gate != nullptr && gate->use == GateUse::kValidates) gates.push_back("featureGates." + name);
  }
  return gates;
}

std::set<std::string, std::less<>> kinds_with_queue(const Configuration& configuration) {
  std::set<std::string, std::less<>> names(configuration.external_frameworks.begin(),
                                           configuration.external_frameworks.end());
  const auto& enabled = configuration.frameworks;
  for (const KindDescriptionPtr& kind : described_kinds()) {
    if (std::find(enabled.begin(), enabled.end(), kind->framework) != enabled.end())
      names.insert(kind->kind + "." + kind->version + "." + kind->group);
  }
  for (const UnqueuedKind& kind : unqueued_kinds()) {
    if (std::find(enabled.begin(), enabled.end(), kind.framework) != enabled.end())
      names.insert(std::string(kind.kind) + "." + std::string(kind.version) + "." + std::string(kind.group));
  }
  return names;
}

FrameworkCheck check_frameworks(const Configuration& configuration, std::span<const std::string_view> queued) {
  std::vector<std::string> known(queued.begin(), queued.end());
  for (const UnqueuedKind& kind : unqueued_kinds()) {
    if (!kind.framework.empty()) known.emplace_back(kind.framework);
  }
  FrameworkCheck check;
  std::string names;
  const auto& enabled = configuration.frameworks;
  for (size_t i = 0; i < configuration.frameworks.size(); ++i) {
    const std::string& framework = configuration.frameworks[i];
    const bool pods_alone = framework == kDeploymentFramework || framework == kStatefulSetFramework ||
                            framework == kLeaderWorkerSetFramework;
    if (pods_alone && std::find(enabled.begin(), enabled.end(), "pod") == enabled.end()) {
      check.errors.push_back(invalid(FieldPath("integrations").child("frameworks").index(i), framework,
                                     "its pods wait for quota, which the integration \"pod\" does; enable it too"));
    }
    if (std::find(queued.begin(), queued.end(), framework) != queued.end()) continue;
    if (std::find(known.begin(), known.end(), framework) != known.end()) {
      names += (names.empty() ? "" : ", ") + framework;
    } else if (const std::string meant = nearest_word(framework, known); !meant.empty()) {
      check.errors.push_back(invalid(FieldPath("integrations").child("frameworks").index(i), framework,
                                     "did you mean \"" + meant + "\"?"));
    }
  }
  if (!names.empty()) {
    check.warning =
        "integrations.frameworks: muster does not queue " + names +
        "; objects of these kinds run without quota, and the admission policy " +
        "muster-unqueued-kinds warns users that give such an object a queue (docs/configuration.md, unqueuedKinds)";
  }
  return check;
}

}  // namespace muster
