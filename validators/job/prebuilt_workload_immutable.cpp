#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/management.h"
#include "jobs/prebuilt_workload.h"
#include "validators/validator.h"

namespace muster::validators::prebuilt_workload_immutable {
namespace {

std::string_view name_in(const std::optional<jobs::PrebuiltWorkloadName>& prebuilt) {
  return prebuilt ? prebuilt->name : std::string_view();
}

// A running job keeps its Workload; an elastic job moves from slice to slice.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::checked_kind(review);
  const nlohmann::json& object = review.request.object;
  const nlohmann::json& old_object = review.request.old_object;
  if (!kind || kind->is_serving() || kind->stopped(object) || jobs::is_elastic(review.settings, old_object)) return {};
  const auto before = jobs::prebuilt_workload_name_of(review.settings, old_object);
  const auto after = jobs::prebuilt_workload_name_of(review.settings, object);
  if (name_in(before) == name_in(after)) return {};
  const std::string field = after ? after->field : FieldPath("metadata.labels").key(kPrebuiltWorkload);
  return {invalid(field, name_in(after), "field is immutable")};
}

}  // namespace

extern const Validator rule = {
    .name = "prebuilt_workload_immutable",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::prebuilt_workload_immutable
