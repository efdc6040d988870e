// The quota of an AppWrapper is computed from its declared pod sets, so they must count all of its pods.
// Rejected, for example:
//
//   components:
//   - podSets: [{path: template.spec.template, replicas: 1}]
//     template: {apiVersion: batch/v1, kind: Job, spec: {parallelism: 50, ...}}
//
// The webhook of AppWrapper itself has such a rule too, but it is not always installed.

#include "jobs/management.h"
#include "kinds/kind_hook.h"
#include "validators/validator.h"

namespace muster::validators::appwrapper_pod_sets {
namespace {

FieldErrors errors_in(const Review& review) {
  if (!jobs::is_queued_here(review)) return {};
  return new_errors(review, find_kind_hook("appwrapper")->uncounted_pods);
}

FieldErrors check(const Review& review) {
  return if_enforced(review, errors_in);
}

std::vector<std::string> warn(const Review& review) {
  return if_observed(review, errors_in);
}

}  // namespace

extern const Validator rule = {
    .name = "appwrapper_pod_sets",
    .matches = {{"workload.codeflare.dev", "appwrappers"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::appwrapper_pod_sets
