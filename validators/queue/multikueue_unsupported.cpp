// A queued job that MultiKueue manages runs on another cluster; in this cluster no controller would ever start
// it. Rejected, for example:
//
//   managedBy: kueue.x-k8s.io/multikueue
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "validators/validator.h"

namespace muster::validators::multikueue_unsupported {
namespace {

FieldErrors unsupported_in(const nlohmann::json& job) {
  if (string_at(job, {"spec", "managedBy"}) != kMultiKueueControllerName) return {};
  return {invalid("spec.managedBy", kMultiKueueControllerName,
                  "muster does not send jobs to other clusters; leave it out, and name a LocalQueue whose ClusterQueue "
                  "has no admission check of MultiKueue")};
}

FieldErrors check(const Review& review) {
  const bool queued = label(review.request.object, kQueueNameLabel).has_value();
  if (!queued && !review.settings.manage_jobs_without_queue_name) return {};
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator rule = {
    .name = "multikueue_unsupported",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::multikueue_unsupported
