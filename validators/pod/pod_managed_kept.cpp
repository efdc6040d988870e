// The label by which muster finds its pods cannot be removed while a pod is allowed to run: muster counts no
// quota for a pod that it does not see.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/pod_phase.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::pod_managed_kept {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  if (jobs::enabled_kind(review) != &jobs::plain_pod || pod_has_ended(review.request.old_object)) return {};
  const bool was_managed = label(review.request.old_object, kManagedLabel) == kManagedLabelValue;
  if (!was_managed || label(review.request.object, kManagedLabel)) return {};
  return {forbidden(FieldPath("metadata.labels").key(kManagedLabel),
                    "cannot be removed while the pod may run: its quota would go to others; delete the pod instead")};
}

}  // namespace

extern const Validator rule = {
    .name = "pod_managed_kept",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::pod_managed_kept
