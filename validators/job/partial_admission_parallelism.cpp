#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::partial_admission_parallelism {
namespace {

using nlohmann::json;

// While a partially admitted Job runs, spec.parallelism is the admitted number, and a change of the field
// changes this number.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  const json& object = review.request.object;
  const json& old_object = review.request.old_object;
  if (!kind || !annotation(old_object, kMinParallelismAnnotation) || kind->suspended(old_object)) return {};
  const auto parallelism = [](const json& job) { return int_at(job, {"spec", "parallelism"}).value_or(1); };
  if (parallelism(object) == parallelism(old_object)) return {};
  return {
      forbidden("spec.parallelism", "cannot change when partial admission is enabled and the job is not suspended")};
}

}  // namespace

extern const Validator rule = {
    .name = "partial_admission_parallelism",
    .matches = {{"batch", "jobs"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::partial_admission_parallelism
