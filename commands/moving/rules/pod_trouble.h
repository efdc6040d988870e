// Why pods of muster do not run, as their kubelets and the scheduler report it. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "commands/moving/rules/cluster_dump.h"

namespace muster::commands {

// Whether one of its containers runs; it need not be ready.
bool runs(const nlohmann::json& pod);

struct PodTrouble {
  std::string cause;    // equal for pods that one remedy helps: "image r/muster:0.1.0", "crash", "unschedulable"
  std::string problem;  // "its image r/muster:0.1.0 cannot be pulled (ImagePullBackOff: ...)"
  std::string remedy;   // a command that works in this state: no log of a container that has not started
};
// What keeps a pod from running and does not pass by itself: no node that fits, an image that cannot be pulled, a
// ConfigMap that is not there, a process that exits again and again. nullopt: nothing, or the container is being
// created.
std::optional<PodTrouble> trouble_of(const nlohmann::json& pod);

}  // namespace muster::commands
