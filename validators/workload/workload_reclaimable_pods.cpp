// Pods can be reclaimed only from existing pod sets, and not more pods than a pod set has. Rejected, for
// example:
//
//   podSets: [{name: main, count: 2}], reclaimablePods: [{name: main, count: 3}]
//
// After an elastic job has become smaller, its old count can stay until its reconciler writes a new one.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "jobs/named_items.h"
#include "jobs/queue_fields.h"
#include "validators/enough_errors.h"
#include "validators/validator.h"

namespace muster::validators::workload_reclaimable_pods {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& reclaimable = array_at(review.request.object, {"status", "reclaimablePods"});
  if (reclaimable.empty()) return {};
  const json& pod_sets = jobs::pod_sets_of(review.request.object);
  std::vector<std::string> known;
  for (const json& pod_set : pod_sets) known.emplace_back(string_at(pod_set, {"name"}));
  std::sort(known.begin(), known.end());
  const jobs::NamedItems by_name(pod_sets);
  const bool is_elastic = jobs::is_elastic(review.settings, review.request.object);
  const jobs::NamedItems before(array_at(review.request.old_object, {"status", "reclaimablePods"}));
  FieldErrors errors;
  for (const json& one : reclaimable) {
    if (errors.size() == kEnoughErrors) break;
    const std::string_view name = string_at(one, {"name"});
    const FieldPath path = FieldPath("status.reclaimablePods").key(name);
    const json* pod_set = by_name.find(name);
    if (pod_set == nullptr) {
      FieldError error = not_supported(path.child("name"), name, known);
      if (known.empty()) error.detail.clear();
      errors.push_back(std::move(error));
      continue;
    }
    const int64_t count = int_at(one, {"count"}).value_or(0);
    const int64_t most = int_at(*pod_set, {"count"}).value_or(0);
    const json* old_one = before.find(name);
    const bool is_kept = is_elastic && old_one != nullptr && int_at(*old_one, {"count"}).value_or(0) == count;
    if (count > most && !is_kept) {
      errors.push_back(invalid(path.child("count"), count, "should be less or equal to " + std::to_string(most)));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_reclaimable_pods",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_reclaimable_pods
