// spec.managedBy is the name of a controller: a domain and a path, at most 63 bytes.
// Rejected, for example:
//
//   managedBy: my-controller
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "validators/validator.h"

namespace muster::validators::jobset_managed_by {
namespace {

constexpr size_t kMaxBytes = 63;

FieldErrors check(const Review& review) {
  const nlohmann::json* manager = find_path(review.request.object, {"spec", "managedBy"});
  if (!manager || !manager->is_string()) return {};
  const auto& name = manager->get_ref<const std::string&>();
  FieldErrors errors = is_domain_prefixed_path("spec.managedBy", name);
  if (name.size() > kMaxBytes) errors.push_back(too_long("spec.managedBy", kMaxBytes));
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_managed_by",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_managed_by
