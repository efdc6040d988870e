#include "api/config/muster_configuration.h"

#include <nlohmann/json.hpp>

#include "api/config/muster_settings.h"

namespace muster {
namespace {

std::string known_settings() {
  std::string names;
  for (const MusterSetting& setting : muster_settings())
    names += (names.empty() ? "" : ", ") + std::string(setting.name);
  return names;
}

}  // namespace

Result<MusterConfiguration, FieldErrors> decode_muster_configuration(const nlohmann::json& document) {
  MusterConfiguration configuration;
  FieldErrors errors;
  for (auto it = document.begin(); it != document.end(); ++it) {
    if (it.key() == "apiVersion" || it.key() == "kind") continue;
    const FieldPath path(it.key());
    const MusterSetting* setting = find_muster_setting(it.key());
    if (setting == nullptr) {
      errors.push_back(forbidden(path, "is no field of MusterConfiguration; the fields are " + known_settings()));
    } else if (!it->is_null()) {
      setting->value.read(*it, path, configuration, errors);
    }
  }
  if (!errors.empty()) return fail_with(std::move(errors));
  return configuration;
}

}  // namespace muster
