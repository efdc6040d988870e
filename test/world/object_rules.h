// What an API server does per kind when an object is created or changed: defaults,
// generated parts, and what can no longer change. Pure; used by test/world/api_server.h.
//
// Source: kube-apiserver pkg/registry/batch/job/strategy.go and pkg/apis/batch/validation
// (1.36); core/v1 and batch/v1 defaults.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta/resource_type.h"

namespace muster::world {

std::string uid_of(const nlohmann::json& object);
std::string object_name(const nlohmann::json& object);
bool is_deleting(const nlohmann::json& object);
// Whether a condition of its status is True.
bool has_condition(const nlohmann::json& object, std::string_view type);

bool has_status_subresource(const ResourceType& type);
// Whether metadata.generation counts the changes of its spec.
bool has_generation(const ResourceType& type);

// Defaults of the versioned API, which webhooks see already.
void set_defaults(const ResourceType& type, nlohmann::json& object);
// What storage makes of a new object once it has its uid: a Job's selector and the
// labels of its pods, the empty status.
void prepare_for_create(const ResourceType& type, nlohmann::json& object);

// Why a new object is refused.
std::optional<std::string> check_new(const ResourceType& type, const nlohmann::json& object);
// Why a change of all but the status is refused.
std::optional<std::string> check_change(const ResourceType& type, const nlohmann::json& before,
                                        const nlohmann::json& after, bool resumed_jobs_may_change);
std::optional<std::string> check_status_change(const ResourceType& type, const nlohmann::json& before,
                                               const nlohmann::json& after);

}  // namespace muster::world
