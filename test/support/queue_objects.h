// Queues, Workloads and what they are made of, as JSON. Tests add to them by merge patches.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"

namespace muster::test {

using nlohmann::json;

// The ownerReferences of what this object controls.
json controlled_by(const ResourceType& type, const std::string& name, const std::string& uid);
json controlled_by(std::string_view api_version, std::string_view kind, const std::string& name,
                   const std::string& uid);

json condition_at(const std::string& stamp, const std::string& type, const std::string& status,
                  const std::string& reason, const std::string& message = "m");

// A flavor of a resource group with these quotas: {"cpu": "10"}.
json quota_of(const std::string& flavor, const json& nominal);
// For all namespaces. The flavors have quotas for the same resources.
json cluster_queue_of(const std::vector<json>& flavors, const json& more = json::object());

// Of one container. null: it asks for nothing.
json pod_template_of(const json& requests = json());
// In LocalQueue "lq", of one pod set "main".
json workload_of(int pods, const json& pod_template, const json& more_spec = json::object());
// Of `pods` in pod set "main" by ClusterQueue "cq". `usage`, of all pods: {"cpu": "2"}; `flavors`: {"cpu": "f1"}.
json admission_of(int pods, const json& flavors, const json& usage);

}  // namespace muster::test
