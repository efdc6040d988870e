#include "runtime/recording/recorded_settings.h"

#include "api/codec/json.h"
#include "api/codec/yaml.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

std::string without_comments(const std::string& text) {
  const auto documents = read_yaml(text);
  std::string plain;
  if (!documents) return plain;
  for (const YamlDocument& document : *documents) plain += "---\n" + to_text(document.value) + "\n";
  return plain;
}

json flags_json(const SettingsFlags& flags) {
  return {{"featureGates", flags.feature_gates}, {"given", flags.given}};
}

SettingsFlags read_flags(const json& object) {
  SettingsFlags flags;
  flags.feature_gates = string_at(object, {"featureGates"});
  const json& given = object_at(object, {"given"});
  for (auto it = given.begin(); it != given.end(); ++it) flags.given[it.key()] = strings_at(given, {it.key()});
  return flags;
}

}  // namespace

json recorded_settings(const Settings& settings, const SettingsFlags& flags, const EngineSurroundings& surroundings) {
  return {{"configuration", without_comments(settings.texts.configuration)},
          {"kinds", without_comments(settings.texts.kinds)},
          {"flags", flags_json(flags)},
          {"namespace", surroundings.own_namespace},
          {"webhookUrl", surroundings.webhook_url},
          {"nativeJobSets", surroundings.native_jobsets},
          {"jobsetController", surroundings.jobset_controller},
          {"keepWebhookConfigurations", surroundings.keep_webhook_configurations}};
}

Result<engine::EngineSettings> settings_of_recording(const json& recorded, const std::string* other_configuration) {
  const auto text = [&](const char* key) { return std::string(string_at(recorded, {key})); };
  SettingsTexts texts{.configuration = other_configuration == nullptr ? text("configuration") : *other_configuration,
                      .kinds = text("kinds")};
  const EngineSurroundings surroundings{
      .own_namespace = text("namespace"),
      .webhook_url = text("webhookUrl"),
      .native_jobsets = bool_at(recorded, {"nativeJobSets"}),
      .jobset_controller = text("jobsetController"),
      .keep_webhook_configurations = bool_at(recorded, {"keepWebhookConfigurations"})};
  auto settings =
      settings_of_texts(std::move(texts), read_flags(object_at(recorded, {"flags"})), surroundings.own_namespace);
  if (!settings) return fail(settings.error().message);
  return engine_settings_of(*settings, surroundings);
}

}  // namespace muster::runtime
