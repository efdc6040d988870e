// Reserved quota covers every pod set. (Kueue says so in its CRD.) Rejected, for example: a
// Workload of two pod sets with
//
//   admission: {podSetAssignments: [{name: main}]}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_admission_count {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& workload = review.request.object;
  const json* admission = find_path(workload, {"status", "admission"});
  if (admission == nullptr || !admission->is_object() || !jobs::has_quota_reservation(workload)) return {};
  if (array_at(*admission, {"podSetAssignments"}).size() == jobs::pod_sets_of(workload).size()) return {};
  return {{"status.admission.podSetAssignments", FieldErrorType::kInvalid, "",
           "podSetAssignments must have the same number of podSets as the spec"}};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_admission_count",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::workload_admission_count
