// A priority class must have the kind of its group, and needs the priority that was read from it. (Kueue has
// this rule in its CRD.) Rejected, for example:
//
//   priorityClassRef: {group: kueue.x-k8s.io, kind: PriorityClass, name: high}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::workload_priority_class {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& spec = object_at(review.request.object, {"spec"});
  const json* reference = find_path(spec, {"priorityClassRef"});
  if (reference == nullptr || reference->is_null()) return {};
  FieldErrors errors;
  if (!int_at(spec, {"priority"})) {
    errors.push_back({"spec", FieldErrorType::kInvalid, "", "priority should not be nil when priorityClassRef is set"});
  }
  const std::string_view group = string_at(*reference, {"group"}), kind = string_at(*reference, {"kind"});
  const auto only = [&](std::string_view wanted_kind, std::string_view of) {
    if (group != of || kind == wanted_kind) return;
    errors.push_back(
        {"spec.priorityClassRef", FieldErrorType::kInvalid, "",
         "only the " + std::string(wanted_kind) + " kind is allowed for the " + std::string(of) + " group"});
  };
  only("PriorityClass", "scheduling.k8s.io");
  only("WorkloadPriorityClass", "kueue.x-k8s.io");
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_priority_class",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kSchema,
};

}  // namespace muster::validators::workload_priority_class
