// From the --config file and the flags beside it to settings that rules can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/configuration.h"
#include "api/config/muster_settings.h"
#include "api/config/rule_settings.h"
#include "base/result.h"
#include "engine/engine.h"
#include "manifests/names.h"
#include "manifests/webhooks.h"
#include "reconcilers/reconciler.h"

namespace muster::runtime {

// Flags that change what the file says; each wins over the file.
struct SettingsFlags {
  std::string config_file{};    // empty: none
  std::string kinds_file{};     // JobKinds beside those of the configuration; empty: none
  std::string feature_gates{};  // Kueue's
  GivenSettings given{};        // muster's own

  bool operator==(const SettingsFlags&) const = default;
};

// What the files say; empty: there is none.
struct SettingsTexts {
  std::string configuration, kinds;
};

struct Settings {
  LoadedConfiguration configuration;
  std::vector<std::string> warnings;  // sentences for the log
  SettingsTexts texts{};              // what they were made from, beside flags
};

// Reads, decodes and validates. `own_namespace` is where muster runs. The error names
// the file and everything that is wrong.
Result<Settings> load_settings(const SettingsFlags& flags, const std::string& own_namespace);

// The same with the texts of the files, which are not read.
Result<Settings> settings_of_texts(SettingsTexts texts, const SettingsFlags& flags, const std::string& own_namespace);

// The same of a text that is at hand: a ConfigMap's, say. No flags.
Result<Settings> settings_of_text(std::string_view text, const std::string& own_namespace);

// Who muster is, which its surroundings know and the file does not.
struct OwnIdentity {
  std::string image;   // empty: muster:<version>
  std::string user;    // of muster's service account; empty outside a cluster
  std::string name{};  // the same, or of the person who runs it; empty: not known
  // Of the JobSet controller beside which muster stands; empty: there is none, or it was not found.
  std::string jobset_controller{};
};

// `native_jobsets`: muster is the JobSet controller.
RuleSettings rule_settings_of(const Settings& settings, const OwnIdentity& own, bool native_jobsets);
ReconcilerSettings reconciler_settings_of(const Settings& settings, bool native_jobsets,
                                          const std::string& own_namespace);

// How muster is registered with the API server; `url` is empty for the Service.
manifests::WebhookRegistration registration_of(const Settings& settings, const std::string& own_namespace,
                                               const std::string& url, bool native_jobsets);

// What the engine of a process is made from, beside its settings.
struct EngineSurroundings {
  std::string own_namespace;
  std::string webhook_url{};  // empty for the Service
  bool native_jobsets = false;
  std::string jobset_controller{};  // OwnIdentity::jobset_controller
  bool keep_webhook_configurations = true;
};
engine::EngineSettings engine_settings_of(const Settings& settings, const EngineSurroundings& surroundings);

}  // namespace muster::runtime
