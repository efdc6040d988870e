// What rules know of Ray's kinds beside their rows.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "api/meta/field_error.h"
#include "api/review/review.h"

namespace muster::jobs {

inline constexpr RuleMatch kRayJobs{"ray.io", "rayjobs"};
inline constexpr RuleMatch kRayClusters{"ray.io", "rayclusters"};
inline constexpr RuleMatch kRayServices{"ray.io", "rayservices"};

// The spec of the cluster in an object of this resource: of a RayCluster its own. nullptr: there is none.
const nlohmann::json* ray_cluster_spec(std::string_view resource, const nlohmann::json& object);
FieldPath ray_cluster_path(std::string_view resource);

}  // namespace muster::jobs
