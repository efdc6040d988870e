// What of an object can leave a cluster in a bug report. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace muster::commands {

// Without values of environment variables, wherever a pod template is, without the annotation in which kubectl keeps
// the whole object, and without CA bundles and managedFields. A Secret becomes its name.
nlohmann::json redacted(nlohmann::json object);

// Files, by their names, as one archive (POSIX ustar). Names are shorter than 100 bytes.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace muster::commands
