// Quota that was released while the remaining quota is in use cannot be taken back. Rejected, for example:
//
//   reclaimablePods: [{name: main, count: 2}] -> reclaimablePods: [{name: main, count: 1}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/named_items.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_reclaimable_shrink {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& before = array_at(review.request.old_object, {"status", "reclaimablePods"});
  if (before.empty() || !jobs::has_quota_reservation(review.request.object) ||
      !jobs::has_quota_reservation(review.request.old_object)) {
    return {};
  }
  const jobs::NamedItems now(array_at(review.request.object, {"status", "reclaimablePods"}));
  FieldErrors errors;
  for (const json& old_one : before) {
    const std::string_view name = string_at(old_one, {"name"});
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
