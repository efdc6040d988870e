// The chosen cluster cannot change, and it ends the nomination. (Kueue has this rule in its CRD.) Rejected, for
// example:
//
//   clusterName: a, nominatedClusterNames: [a, b]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::workload_cluster_choice {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& now = object_at(review.request.object, {"status"});
  const json* chosen = find_path(now, {"clusterName"});
  if (chosen == nullptr || chosen->is_null()) return {};
  FieldErrors errors;
  if (!array_at(now, {"nominatedClusterNames"}).empty()) {
    errors.push_back(
        {"status", FieldErrorType::kInvalid, "", "clusterName and nominatedClusterNames are mutually exclusive"});
  }
  const json* before = find_path(review.request.old_object, {"status", "clusterName"});
  if (before != nullptr && !before->is_null() && *before != *chosen) {
    errors.push_back({"status", FieldErrorType::kInvalid, "", "clusterName is immutable once set"});
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_cluster_choice",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::workload_cluster_choice
