#include <algorithm>

#include "api/configuration.h"

namespace muster {

FieldErrors apply_feature_gates(Configuration& configuration, std::string_view flag) {
  FieldErrors errors = check_feature_gates(flag, configuration.feature_gates);
  if (errors.empty() && !flag.empty()) configuration.feature_gates = *parse_feature_gates(flag);
  return errors;
}

std::vector<std::string> not_acting_yet(const Configuration& configuration) {
  const std::vector<ConfigSetting> settings = configuration_settings();
  std::vector<std::string> idle;
  for (const std::string& path : configuration.set_in_file) {
    // A block that is written empty has no setting of its own and so none that acts.
    const auto acting = [&](const ConfigSetting& setting) { return setting.path == path && setting.acts; };
    const bool gates_or_type = path == "featureGates" || path == "apiVersion" || path == "kind";
    if (!gates_or_type && std::none_of(settings.begin(), settings.end(), acting)) idle.push_back(path);
  }
  for (const auto& [name, enabled] : configuration.feature_gates.value_or(FeatureGateMap{})) {
    const FeatureGate* gate = find_feature_gate(name);
    if (gate != nullptr && !gate->acts) idle.push_back("featureGates." + name);
  }
  std::sort(idle.begin(), idle.end());
  return idle;
}

FrameworkCheck check_frameworks(const Configuration& configuration, std::span<const std::string_view> known,
                                bool ignore_unsupported) {
  std::string names;
  for (const std::string_view name : known) names += (names.empty() ? "" : ", ") + std::string(name);
  FrameworkCheck check;
  for (size_t i = 0; i < configuration.frameworks.size(); ++i) {
    const std::string& framework = configuration.frameworks[i];
    if (std::find(known.begin(), known.end(), framework) != known.end()) continue;
    const std::string field = FieldPath("integrations").child("frameworks").index(i);
    if (ignore_unsupported) {
      check.warnings.push_back(field + ": muster does not manage " + framework +
                               "; objects of this kind start without a quota");
    } else {
      check.errors.push_back(invalid(field, framework,
                                     "muster does not manage this kind, it manages " + names +
                                         "; remove it, or start with --ignore-unsupported-frameworks to let its "
                                         "objects run without a quota"));
    }
  }
  return check;
}

}  // namespace muster
