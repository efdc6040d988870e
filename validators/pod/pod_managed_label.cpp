// The label by which muster finds its pods has one value. It has no meaning on a pod whose controller is
// queued.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::pod_managed_label {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  if (jobs::enabled_kind(review) != &jobs::plain_pod) return {};
  const auto given = label(review.request.object, kManagedLabel);
  if (!given || *given == kManagedLabelValue) return {};
  return {forbidden(FieldPath("metadata.labels").key(kManagedLabel), "managed label value can only be 'true'")};
}

std::vector<std::string> warn(const Review& review) {
  const json& pod = review.request.object;
  if (jobs::enabled_kind(review) != &jobs::plain_pod || annotation(pod, kSuspendingParent)) return {};
  if (label(pod, kManagedLabel) != kManagedLabelValue || !jobs::has_enabled_controller(review.settings, pod)) return {};
  return {"pod owner is managed by kueue, label '" + std::string(kManagedLabel) + "=" +
          std::string(kManagedLabelValue) + "' might lead to unexpected behaviour"};
}

}  // namespace

extern const Validator rule = {
    .name = "pod_managed_label",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::pod_managed_label
