// Checks that only Kueue's own controllers can answer would stay Pending for ever, and every
// queue that has one would be inactive. Rejected, for example:
//
//   controllerName: kueue.x-k8s.io/multikueue
#include <nlohmann/json.hpp>

#include "api/check_controllers.h"
#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::admissioncheck_unsupported {
namespace {

using nlohmann::json;

FieldErrors unsupported_in(const json& admission_check) {
  const std::string_view controller = string_at(admission_check, {"spec", "controllerName"});
  if (!has_no_check_controller(controller)) return {};
  return {invalid("spec.controllerName", controller,
                  "is not supported by muster; set controllerName to an admission check controller that runs in this "
                  "cluster")};
}

FieldErrors check(const Review& review) {
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator rule = {
    .name = "admissioncheck_unsupported",
    .matches = {{"kueue.x-k8s.io", "admissionchecks"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::admissioncheck_unsupported
