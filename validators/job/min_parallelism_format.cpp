#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/counts.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::min_parallelism_format {
namespace {

using nlohmann::json;

// Partial admission: a Job can start with fewer pods, down to this number. On UPDATE only a changed value is
// checked, because of Jobs that are older than the rule.
FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const auto text = annotation(object, kMinParallelismAnnotation);
  if (!jobs::enabled_kind(review) || !text) return {};
  const json& old_object = review.request.old_object;
  if (review.request.operation == Operation::kUpdate &&
      *text == annotation(old_object, kMinParallelismAnnotation).value_or("")) {
    return {};
  }
  const std::string field = FieldPath("metadata.annotations").key(kMinParallelismAnnotation);
  FieldErrors errors;
  if (jobs::is_elastic(review.settings, object)) {
    errors.push_back(invalid(field, *text, "partial admission and elastic job cannot be used together"));
  }
  const int64_t most = pods_of_job_spec(object_at(object, {"spec"})) - 1;
  const auto minimum = go_atoi(*text);
  if (!minimum.ok()) {
    errors.push_back(invalid(field, *text, minimum.error().message));
  } else if (*minimum <= 0 || *minimum > most) {
    errors.push_back(invalid(field, *minimum, "should be between 0 and " + std::to_string(most)));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "min_parallelism_format",
    .matches = {{"batch", "jobs"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::min_parallelism_format
