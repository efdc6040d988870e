// A feature of JobSet's own controller that muster does not support is refused by name, and is not ignored:
// in-place restart. Rejected, for example:
//   failurePolicy: {restartStrategy: InPlaceRestart}
//
// muster does not run a JobSet that another controller manages. A JobSet with such a feature that is older than
// muster can still be changed and ended.
#include <nlohmann/json.hpp>

#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

FieldErrors unsupported_in(const json& jobset) {
  if (!restarts_in_place(jobset)) return {};
  return {
      forbidden("spec.failurePolicy.restartStrategy",
                "in-place restart (InPlaceRestart) is not supported where muster runs JobSets; leave it out, or run "
                "JobSet's own controller beside muster")};
}

FieldErrors check(const Review& review) {
  if (is_managed_elsewhere(review.request.object)) return {};
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator jobset_unsupported;
const Validator jobset_unsupported = {
    .name = "jobset_unsupported",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .native_jobsets = true,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster
