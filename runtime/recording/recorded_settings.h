// The settings of a recording's header: enough of configuration, flags and surroundings to make the same engine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "runtime/load_settings.h"

namespace muster::runtime {

// The configuration without its comments. Flags that only say how muster serves are left out.
nlohmann::json recorded_settings(const Settings& settings, const SettingsFlags& flags,
                                 const EngineSurroundings& surroundings);

// `other_configuration`: the text of a file that takes the place of the recorded configuration; null: none does.
// Installs the kinds that it describes.
Result<engine::EngineSettings> settings_of_recording(const nlohmann::json& recorded,
                                                     const std::string* other_configuration);

}  // namespace muster::runtime
