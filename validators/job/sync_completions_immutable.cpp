#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::sync_completions_immutable {
namespace {

using nlohmann::json;

bool synchronised(const json& job) {
  const auto wanted = go_parse_bool(annotation(job, kCompletionsEqualParallelismAnnotation).value_or("false"));
  return wanted.ok() && *wanted;
}

// A run keeps the meaning of its completions.
FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  const json& object = review.request.object;
  const json& old_object = review.request.old_object;
  if (!kind || kind->stopped(object) || kind->stopped(old_object)) return {};
  if (synchronised(object) == synchronised(old_object)) return {};
  return {forbidden(FieldPath("metadata.annotations").key(kCompletionsEqualParallelismAnnotation),
                    "field is immutable while the job is not suspended")};
}

}  // namespace

extern const Validator rule = {
    .name = "sync_completions_immutable",
    .matches = {{"batch", "jobs"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::sync_completions_immutable
