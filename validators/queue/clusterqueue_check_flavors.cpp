// A check for some flavors names flavors that the queue has. Rejected, for example:
//
//   admissionChecks: [{name: budget, onFlavors: [sopt]}]
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/enough_errors.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_check_flavors {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const json& checks = array_at(object, {"spec", "admissionChecksStrategy", "admissionChecks"});
  if (checks.empty()) return {};
  const std::vector<std::string> known = jobs::flavor_names_of(object);
  FieldErrors errors;
  size_t i = 0;
  for (const json& one : checks) {
    const FieldPath path = FieldPath("spec.admissionChecksStrategy.admissionChecks").index(i++).child("onFlavors");
    size_t j = 0;
    for (const json& flavor : array_at(one, {"onFlavors"})) {
      const std::string field = path.index(j++);
      const auto* name = flavor.get_ptr<const std::string*>();
      if (errors.size() == kEnoughErrors) return errors;
      if (name == nullptr || std::binary_search(known.begin(), known.end(), *name)) continue;
      FieldError error = not_supported(field, *name, known);
      if (known.empty()) error.detail.clear();
      errors.push_back(std::move(error));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_check_flavors",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::clusterqueue_check_flavors
