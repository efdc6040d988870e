// Once a check is Ready, jobs can have been started with the check's updates in their pods. Rejected, for
// example:
//
//   {name: budget, state: Ready, podSetUpdates: []} -> {name: budget, state: Ready, podSetUpdates: [{name: main, ...}]}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/named_items.h"
#include "jobs/queue_text.h"
#include "jobs/typed_text.h"
#include "validators/validator.h"

namespace muster::validators::workload_check_updates_frozen {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  const jobs::NamedItems checks(array_at(review.request.object, {"status", "admissionChecks"}));
  size_t i = 0;
  for (const json& before : array_at(review.request.old_object, {"status", "admissionChecks"})) {
    const std::string field = FieldPath("status.admissionChecks").index(i++).child("podSetUpdates");
    const json* now = checks.find(string_at(before, {"name"}));
    if (now == nullptr || string_at(before, {"state"}) != "Ready" || string_at(*now, {"state"}) != "Ready") continue;
    if (jobs::same_in_typed_api(array_at(*now, {"podSetUpdates"}), array_at(before, {"podSetUpdates"}))) continue;
    const json* updates = find_path(*now, {"podSetUpdates"});
    errors.push_back({field, FieldErrorType::kInvalid, jobs::print_pod_set_updates(updates ? *updates : json()),
                      "field is immutable"});
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_check_updates_frozen",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_check_updates_frozen
