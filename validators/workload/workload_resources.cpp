// The requests of the pods must be countable: valid quantities, not negative, and not the resource `pods`,
// which the queues count by themselves. Rejected, for example:
//
//   resources: {requests: {pods: 1}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/quantity.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_resources {
namespace {

using nlohmann::json;

void check_amounts(FieldErrors& errors, const FieldPath& path, const json& amounts) {
  for (const auto& [name, amount] : amounts.items()) {
    const std::string field = path.key(name);
    const auto quantity = Quantity::from_json(amount);
    if (!quantity) {
      errors.push_back(invalid(field, amount, quantity.error().message));
    } else if (quantity->sign() < 0) {
      errors.push_back(invalid(field, quantity->text(), "must be greater than or equal to 0"));
    }
    if (name == "pods") errors.push_back(invalid(field, name, "the key is reserved for internal kueue use"));
  }
}

void check_resources(FieldErrors& errors, const FieldPath& path, const json& owner) {
  const json& resources = object_at(owner, {"resources"});
  if (resources.empty()) return;
  const FieldPath at = path.child("resources");
  check_amounts(errors, at.child("requests"), object_at(resources, {"requests"}));
  check_amounts(errors, at.child("limits"), object_at(resources, {"limits"}));
}

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& pod_set : jobs::pod_sets_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.podSets").index(i++).child("template").child("spec");
    const json& pod = object_at(pod_set, {"template", "spec"});
    for (const char* list : {"initContainers", "containers"}) {
      size_t j = 0;
      for (const json& container : array_at(pod, {list})) {
        check_resources(errors, path.child(list).index(j++), container);
      }
    }
    check_resources(errors, path, pod);
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_resources",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_resources
