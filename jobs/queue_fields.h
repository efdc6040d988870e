// What the rules read of queues, flavors and Workloads, safe against any JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "api/workload_conditions.h"  // kResourceInUseFinalizer

namespace muster::jobs {

// One quota of a ClusterQueue or Cohort: spec.resourceGroups[i].flavors[j].resources[k],
// with the resource that the group covers in that place. Quotas beyond what the group
// covers are left out.
struct QuotaPlace {
  FieldPath path;
  const nlohmann::json& quota;
  std::string_view covered;
};
std::vector<QuotaPlace> quotas_of(const nlohmann::json& object);

// The flavors of all resource groups, sorted, each once.
std::vector<std::string> flavor_names_of(const nlohmann::json& object);

// Whether a condition of the status is True.
bool condition_is_true(const nlohmann::json& object, std::string_view type);
// The scheduler has reserved quota for the Workload.
bool has_quota_reservation(const nlohmann::json& workload);

const nlohmann::json& pod_sets_of(const nlohmann::json& workload);

// What is wrong with a list of tolerations as the API of Pods has them. `path` is the list's.
FieldErrors check_toleration_shapes(const FieldPath& path, const nlohmann::json& tolerations);
// Their keys, which are label keys.
FieldErrors check_toleration_keys(const FieldPath& path, const nlohmann::json& tolerations);

}  // namespace muster::jobs
