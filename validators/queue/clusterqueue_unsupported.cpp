// A setting of a queue that muster does not support is refused by name, and is not ignored. Rejected, for
// example:
//
//   concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::clusterqueue_unsupported {
namespace {

using nlohmann::json;

FieldErrors unsupported_in(const json& queue) {
  FieldErrors errors;
  if (find_path(queue, {"spec", "concurrentAdmissionPolicy"}) != nullptr) {
    errors.push_back(forbidden("spec.concurrentAdmissionPolicy",
                               "concurrent admission is not supported by muster; leave the policy out, Workloads then "
                               "try the flavors one after the other"));
  }
  // The other mode requests muster's normal behavior.
  constexpr std::string_view kByUsage = "UsageBasedAdmissionFairSharing";
  if (string_at(queue, {"spec", "admissionScope", "admissionMode"}) == kByUsage) {
    errors.push_back(invalid("spec.admissionScope.admissionMode", kByUsage,
                             "muster does not order LocalQueues by their past usage; leave admissionScope out, "
                             "Workloads then queue by priority and age"));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator rule = {
    .name = "clusterqueue_unsupported",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::clusterqueue_unsupported
