// The flags of muster's own settings, made from their rows (api/config/muster_settings.h).
#pragma once

#include "api/config/muster_settings.h"

namespace CLI {
class App;
}

namespace muster::commands {

enum class SettingFlags { kAll, kOfManifests };

// What is given goes into `given`, which must live as long as the command. A text that the file
// could not hold is refused when the command line is read, in the words of the file.
void add_setting_flags(CLI::App& command, SettingFlags which, GivenSettings& given);

}  // namespace muster::commands
