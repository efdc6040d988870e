#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::priority_class_change {
namespace {

// A priority class can change to another class at any time. It cannot be added while the job runs, and it can
// never be removed.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::checked_kind(review);
  if (!kind) return {};
  const std::string_view before = label(review.request.old_object, kPriorityClassLabel).value_or("");
  const std::string_view after = label(review.request.object, kPriorityClassLabel).value_or("");
  const std::string field = FieldPath("metadata.labels").key(kPriorityClassLabel);
  if (before.empty() && !after.empty() && !kind->stopped(review.request.object)) {
    return {invalid(field, after, "WorkloadPriorityClass cannot be added to a non-suspended workload")};
  }
  if (!before.empty() && after.empty()) {
    return {invalid(field, after, "WorkloadPriorityClass cannot be removed from a workload")};
  }
  return {};
}

}  // namespace

extern const Validator rule = {
    .name = "priority_class_change",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::priority_class_change
