// muster records which flavors have failed for a Workload, and for how long it has tried them (KEP-2560). If a
// user could change this, the Workload could skip a flavor, get more time on a flavor, or begin a round early.
// Rejected, for example, is a change of the status by a user to
//
//   flavorAssignmentHistory: []
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"
#include "validators/workload/sent_by_muster.h"

namespace muster::validators::workload_flavor_history {
namespace {

using nlohmann::json;

// An empty value is as good as none.
bool same(const json* now, const json* before) {
  const auto empty = [](const json* value) { return value == nullptr || value->is_null() || value->empty(); };
  return empty(now) || empty(before) ? empty(now) == empty(before) : *now == *before;
}

FieldErrors check(const Review& review) {
  if (is_sent_by_muster(review)) return {};
  FieldErrors errors;
  for (const char* field : {"flavorAssignmentHistory", "flavorFallback"}) {
    if (same(find_path(review.request.object, {"status", field}),
             find_path(review.request.old_object, {"status", field})))
      continue;
    errors.push_back(forbidden(FieldPath("status").child(field),
                               "is written by muster alone; to begin again with every flavor, set spec.active to false "
                               "and then to true"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_flavor_history",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::workload_flavor_history
