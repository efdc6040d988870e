#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::max_execution_time_immutable {
namespace {

// The limit of a run is fixed when it starts: it changes only between stopped states.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::checked_kind(review);
  const nlohmann::json& object = review.request.object;
  const nlohmann::json& old_object = review.request.old_object;
  if (!kind || kind->is_serving() || (kind->stopped(object) && kind->stopped(old_object))) return {};
  const std::string_view limit = label(object, kMaxExecTimeLabel).value_or("");
  if (limit == label(old_object, kMaxExecTimeLabel).value_or("")) return {};
  return {invalid(FieldPath("metadata.labels").key(kMaxExecTimeLabel), limit, "field is immutable")};
}

}  // namespace

extern const Validator rule = {
    .name = "max_execution_time_immutable",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::max_execution_time_immutable
