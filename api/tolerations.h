// Taints of nodes and flavors, and what tolerates them (k8s.io/api core/v1
// ToleratesTaint). Pure functions of the JSON objects.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster {

// Numeric Gt and Lt tolerations are an option of the cluster; Kueue honours them for the taints of flavors.
enum class ComparisonOperators { kHonoured, kIgnored };

// Whether one toleration accepts the taint. An empty key or effect accepts any; an
// unknown operator accepts nothing.
bool tolerates(const nlohmann::json& toleration, const nlohmann::json& taint, ComparisonOperators comparison);

// Whether any of the tolerations (an array, or null for none) accepts the taint.
bool any_tolerates(const nlohmann::json& tolerations, const nlohmann::json& taint, ComparisonOperators comparison);

// Whether the taint keeps new pods away at all; PreferNoSchedule only discourages.
bool counts_for_scheduling(const nlohmann::json& taint);

}  // namespace muster
