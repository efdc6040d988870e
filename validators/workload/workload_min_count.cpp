// The smaller number of pods cannot be larger than the whole number. (Kueue has this rule in its CRD.)
// Rejected, for example:
//
//   podSets: [{name: main, count: 2, minCount: 3}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_min_count {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& pod_set : jobs::pod_sets_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.podSets").index(i++);
    const auto least = int_at(pod_set, {"minCount"});
    if (least && *least > int_at(pod_set, {"count"}).value_or(1)) {
      errors.push_back({path, FieldErrorType::kInvalid, "", "minCount should be less or equal to count"});
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_min_count",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::workload_min_count
