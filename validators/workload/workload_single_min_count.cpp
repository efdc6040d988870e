// At most one pod set can start with fewer pods. Rejected, for example:
//
//   podSets: [{name: driver, minCount: 1}, {name: workers, minCount: 2}]
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_single_min_count {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& pod_sets = jobs::pod_sets_of(review.request.object);
  const auto variable = std::count_if(pod_sets.begin(), pod_sets.end(),
                                      [](const json& pod_set) { return int_at(pod_set, {"minCount"}).has_value(); });
  if (variable <= 1) return {};
  return {invalid("spec.podSets", variable, "at most one podSet can use minCount")};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_single_min_count",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_single_min_count
