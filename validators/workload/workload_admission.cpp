// Reserved quota belongs to the Workload's pod sets: the admission exists, it names existing pod sets, and its
// amounts can be divided among the pods. Rejected, for example:
//
//   conditions: [{type: QuotaReserved, status: "True"}], admission: null
//
// A Workload that was stored without its admission can still be changed, so that it can be corrected or removed.
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_admission {
namespace {

using nlohmann::json;

constexpr std::string_view kAdmission = "status.admission";

void check_usage(FieldErrors& errors, const FieldPath& path, const json& assignment) {
  const int64_t count = int_at(assignment, {"count"}).value_or(0);
  if (count <= 0) return;
  for (const auto& [name, amount] : object_at(assignment, {"resourceUsage"}).items()) {
    const auto quantity = Quantity::from_json(amount);
    if (!quantity) continue;
    const int64_t units = name == "cpu" ? quantity->milli_value() : quantity->value();
    if (units % count != 0) {
      errors.push_back(invalid(path.child("resourceUsage").key(name), quantity->text(),
                               "is not a multiple of " + std::to_string(count)));
    }
  }
}

bool has_admission(const json& workload) {
  const json* admission = find_path(workload, {"status", "admission"});
  return admission != nullptr && admission->is_object();
}

FieldErrors check(const Review& review) {
  const json& workload = review.request.object;
  if (!jobs::has_quota_reservation(workload)) return {};
  const FieldPath path{std::string(kAdmission)};
  if (!has_admission(workload)) {
    const json& before = review.request.old_object;
    if (jobs::has_quota_reservation(before) && !has_admission(before)) return {};
    return {required(path, "must be set while the QuotaReserved condition is true")};
  }
  std::set<std::string_view> known;
  for (const json& pod_set : jobs::pod_sets_of(workload)) known.insert(string_at(pod_set, {"name"}));
  FieldErrors errors;
  size_t i = 0;
  for (const json& assignment : array_at(workload, {"status", "admission", "podSetAssignments"})) {
    const FieldPath at = path.child("podSetAssignments").index(i++);
    const std::string_view name = string_at(assignment, {"name"});
    if (!known.contains(name)) errors.push_back(not_found(at.child("name"), name));
    check_usage(errors, at, assignment);
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_admission",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_admission
