// Kueue and JobSet as they are installed: the parts that a move replaces. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands/moving/rules/cluster_dump.h"

namespace muster::commands {

struct Component {
  std::string_view title;       // "Kueue"
  std::string_view label;       // app.kubernetes.io/name of its Deployment
  std::string_view deployment;  // of its manifests; a Helm release has a prefix
  std::string_view lease;
  std::string_view group;  // of its CRDs
  // Parts of the names of its webhook configurations and APIServices.
  std::vector<std::string_view> mutating, validating;
  std::vector<std::string_view> api_services;
};
const Component& kueue_component();
const Component& jobset_component();

// All parts of it that the dump holds.
struct FoundComponent {
  std::vector<const nlohmann::json*> deployments, leases, mutating, validating, api_services, definitions;
  bool any() const {
    return !deployments.empty() || !leases.empty() || !mutating.empty() || !validating.empty() || !definitions.empty();
  }
};
FoundComponent find_component(const ClusterDump& dump, const Component& component);

// The ConfigMaps with the components' configurations, under the same key; nullptr: it is not there.
const nlohmann::json* kueue_config_map(const ClusterDump& dump);
const nlohmann::json* jobset_config_map(const ClusterDump& dump);
inline constexpr std::string_view kKueueConfigKey = "controller_manager_config.yaml";

// Whether the Lease is held by a process that is no muster; `muster adopt` holds it in muster's name.
bool is_held_by_others(const nlohmann::json& lease);

}  // namespace muster::commands
