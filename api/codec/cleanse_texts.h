#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster {

// Overwrites every text in `tree`, a Secret or a kubeconfig that has been read, and empties it.
void cleanse_texts(nlohmann::json& tree);

}  // namespace muster
