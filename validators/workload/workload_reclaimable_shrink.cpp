// Quota that was released while the remaining quota is in use cannot be taken back. Rejected, for example:
//
//   reclaimablePods: [{name: main, count: 2}] -> reclaimablePods: [{name: main, count: 1}]
//
// A pod set of an elastic job that has become smaller since its admission has fewer pods to reclaim.
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "jobs/named_items.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_reclaimable_shrink {
namespace {

using nlohmann::json;

// The pod sets of an elastic Workload that have fewer pods than were admitted.
std::set<std::string_view> smaller_pod_sets(const Review& review) {
  const json& workload = review.request.object;
  if (!jobs::is_elastic(review.settings, workload)) return {};
  const jobs::NamedItems pod_sets(jobs::pod_sets_of(workload));
  std::set<std::string_view> smaller;
  for (const json& assignment : array_at(workload, {"status", "admission", "podSetAssignments"})) {
    const std::string_view name = string_at(assignment, {"name"});
    const json* pod_set = pod_sets.find(name);
    const int64_t count = pod_set == nullptr ? 0 : int_at(*pod_set, {"count"}).value_or(0);
    if (int_at(assignment, {"count"}).value_or(0) > count) smaller.insert(name);
  }
  return smaller;
}

FieldErrors check(const Review& review) {
  const json& before = array_at(review.request.old_object, {"status", "reclaimablePods"});
  if (before.empty() || !jobs::has_quota_reservation(review.request.object) ||
      !jobs::has_quota_reservation(review.request.old_object)) {
    return {};
  }
  const jobs::NamedItems now(array_at(review.request.object, {"status", "reclaimablePods"}));
  const std::set<std::string_view> smaller = smaller_pod_sets(review);
  FieldErrors errors;
  for (const json& old_one : before) {
    const std::string_view name = string_at(old_one, {"name"});
    if (smaller.contains(name)) continue;
    const FieldPath path = FieldPath("status.reclaimablePods").key(name);
    const json* one = now.find(name);
    if (one == nullptr) {
      errors.push_back(required(path, "cannot be removed"));
      continue;
    }
    const int64_t count = int_at(*one, {"count"}).value_or(0), least = int_at(old_one, {"count"}).value_or(0);
    if (count < least) {
      errors.push_back(invalid(path.child("count"), count, "cannot be less than " + std::to_string(least)));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_reclaimable_shrink",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_reclaimable_shrink
