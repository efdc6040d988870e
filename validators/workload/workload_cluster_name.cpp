// The cluster is chosen from the nominated clusters, and the choice cannot change. Rejected, for example:
//
//   clusterName: a -> clusterName: b
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::workload_cluster_name {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& now = object_at(review.request.object, {"status"});
  const json& before = object_at(review.request.old_object, {"status"});
  const json* chosen = find_path(now, {"clusterName"});
  if (chosen == nullptr || chosen->is_null()) return {};
  FieldErrors errors;
  const json* old_chosen = find_path(before, {"clusterName"});
  if (old_chosen == nullptr || old_chosen->is_null()) {
    const json& nominated = array_at(before, {"nominatedClusterNames"});
    if (std::find(nominated.begin(), nominated.end(), *chosen) == nominated.end()) {
      errors.push_back(invalid("status.clusterName", *chosen,
                               "when setting clusterName it must be one of the nominatedClusterNames"));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_cluster_name",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_cluster_name
