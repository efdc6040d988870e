// The position of a Workload in its queue cannot change while it holds quota: its queue, the class of its
// priority (another WorkloadPriorityClass is allowed), and, while it is admitted, its maximum execution time.
// (Kueue has this rule in its CRD.) Rejected, for example:
//
//   queueName: a -> queueName: b
//   queueName: a -> (none)
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/workload_conditions.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_reserved_immutable {
namespace {

using nlohmann::json;

using Keys = std::initializer_list<std::string_view>;

FieldError unchangeable(std::string field, std::string_view what, std::string_view where = "") {
  return {std::move(field), FieldErrorType::kInvalid, "",
          std::string(what) + " is immutable" + std::string(where) + " while workload quota reserved"};
}

void check_priority_class(FieldErrors& errors, const json& now, const json& before) {
  const json& reference = object_at(now, {"spec", "priorityClassRef"});
  const json& old_reference = object_at(before, {"spec", "priorityClassRef"});
  if (reference.empty() != old_reference.empty()) {
    errors.push_back(unchangeable("spec.priorityClassRef", "priorityClassRef"));
    return;
  }
  const auto compare = [&](const std::string& key, std::string_view where) {
    if (string_at(reference, {key}) == string_at(old_reference, {key})) return;
    errors.push_back(unchangeable(FieldPath("spec.priorityClassRef").child(key), "priorityClassRef." + key, where));
  };
  compare("group", "");
  compare("kind", "");
  if (string_at(reference, {"group"}) == "scheduling.k8s.io" && string_at(reference, {"kind"}) == "PriorityClass") {
    compare("name", " for scheduling.k8s.io/priorityclass");
  }
}

FieldErrors check(const Review& review) {
  const json& now = review.request.object;
  const json& before = review.request.old_object;
  FieldErrors errors;
  if (jobs::has_quota_reservation(before)) check_priority_class(errors, now, before);
  const std::string_view queue = string_at(now, {"spec", "queueName"});
  const std::string_view old_queue = string_at(before, {"spec", "queueName"});
  if (jobs::has_quota_reservation(before) && jobs::has_quota_reservation(now) && !old_queue.empty() &&
      queue != old_queue) {
    errors.push_back(unchangeable("spec.queueName", "queueName"));
  }
  const Keys limit = {"spec", "maximumExecutionTimeSeconds"};
  if (jobs::condition_is_true(before, kAdmittedCondition) && jobs::condition_is_true(now, kAdmittedCondition) &&
      int_at(now, limit).value_or(0) != int_at(before, limit).value_or(0)) {
    errors.push_back(unchangeable("spec.maximumExecutionTimeSeconds", "maximumExecutionTimeSeconds"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_reserved_immutable",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::workload_reserved_immutable
