// Why pods of muster do not run, as their kubelets report it. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "commands/moving/rules/cluster_dump.h"

namespace muster::commands {

// Whether one of its containers runs; it need not be ready.
bool runs(const nlohmann::json& pod);

struct PodTrouble {
  std::string problem;  // "its image r/muster:0.1.0 cannot be pulled (ImagePullBackOff: ...)"
  std::string remedy;   // a command
};
// What keeps a container waiting and does not pass by itself: an image that cannot be pulled, a ConfigMap that is not
// there, a process that exits again and again. nullopt: nothing, or the container is being created.
std::optional<PodTrouble> trouble_of(const nlohmann::json& pod);

}  // namespace muster::commands
