// The pod sets for which quota is reserved cannot change, except to fewer pods. Rejected, for example, while
// quota is reserved:
//
//   podSets: [{name: main, count: 2}] -> podSets: [{name: main, count: 3}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "jobs/queue_text.h"
#include "jobs/typed_text.h"
#include "validators/validator.h"

namespace muster::validators::workload_pod_sets_immutable {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& workload = review.request.object;
  const json& before = jobs::pod_sets_of(review.request.old_object);
  const json& now = jobs::pod_sets_of(workload);
  if (now == before || !jobs::has_quota_reservation(review.request.old_object)) return {};
  if (now.size() != before.size()) {
    const json* stated = find_path(workload, {"spec", "podSets"});
    return {{"spec.podSets", FieldErrorType::kInvalid, jobs::print_pod_sets(stated ? *stated : json()),
             "field is immutable"}};
  }
  const bool may_shrink = review.settings.enabled(Gate::kElasticJobsViaWorkloadSlices);
  FieldErrors errors;
  for (size_t i = 0; i < now.size(); ++i) {
    json pod_set = now[i];
    const auto count = int_at(pod_set, {"count"}), old_count = int_at(before[i], {"count"});
    if (may_shrink && count && old_count && *count < *old_count) pod_set["count"] = *old_count;
    if (jobs::same_in_typed_api(pod_set, before[i])) continue;
    errors.push_back({FieldPath("spec.podSets").child(std::to_string(i)), FieldErrorType::kInvalid,
                      jobs::print_pod_sets(pod_set), "field is immutable"});
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_pod_sets_immutable",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_pod_sets_immutable
