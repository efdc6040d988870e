// An elastic job changes its size while it runs, and so is not admitted with fewer pods. Rejected, for example:
//
//   metadata.annotations: {kueue.x-k8s.io/elastic-job: "true"}, podSets: [{name: main, count: 4, minCount: 2}]
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_elastic_min_count {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  if (!jobs::is_elastic(review.settings, review.request.object)) return {};
  const json& pod_sets = jobs::pod_sets_of(review.request.object);
  const auto variable = std::count_if(pod_sets.begin(), pod_sets.end(),
                                      [](const json& pod_set) { return int_at(pod_set, {"minCount"}).has_value(); });
  if (variable == 0) return {};
  return {invalid("spec.podSets", variable, "partial admission and elastic job cannot be used together")};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_elastic_min_count",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_elastic_min_count
