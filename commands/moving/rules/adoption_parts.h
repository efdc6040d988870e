// Parts that the way to muster and the way back have in common. Pure.
#pragma once

#include "commands/moving/rules/adoption.h"

namespace muster::commands {

kube::Resource resource_for(const nlohmann::json& object);
nlohmann::json without_server_fields(nlohmann::json object);
// The record of earlier steps, of one component ("kueue"); null: there is none.
nlohmann::json recorded(const ClusterDump& state, const AdoptionOptions& options, const std::string& component);
const nlohmann::json* record_of(const ClusterDump& state, const AdoptionOptions& options);
// By name, of those that muster has definitions for and that belong to the component.
std::vector<const nlohmann::json*> taken_definitions(const ClusterDump& state, const Component& component);
AdoptionChange merge_patch(const nlohmann::json& object, nlohmann::json patch, std::string subresource = "");
AdoptionChange create(nlohmann::json object);
AdoptionChange remove(const nlohmann::json& object);
// Steps that scale Deployments down to none, and wait for the end of their pods.
void add_scale_down(const ClusterDump& state, const std::vector<const nlohmann::json*>& deployments,
                    const std::string& title, std::vector<AdoptionStep>& steps);
std::vector<const nlohmann::json*> pods_of(const ClusterDump& state, const nlohmann::json& deployment);

}  // namespace muster::commands
