#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::sync_completions_format {
namespace {

using nlohmann::json;

// completions follow parallelism when it is lowered by partial admission: that needs
// Indexed completion, and both numbers equal from the start.
FieldErrors check(const Review& review) {
  const json& object = review.request.object;
  const auto text = annotation(object, kCompletionsEqualParallelismAnnotation);
  if (!jobs::enabled_kind(review) || !text) return {};
  const std::string field = FieldPath("metadata.annotations").key(kCompletionsEqualParallelismAnnotation);
  const auto wanted = go_parse_bool(*text);
  if (!wanted.ok()) return {invalid(field, *text, wanted.error().message)};
  if (!*wanted) return {};

  FieldErrors errors;
  const std::string_view mode = string_at(object, {"spec", "completionMode"});
  if (mode.empty() || mode == "NonIndexed") {
    errors.push_back(invalid(field, *text, "should not be enabled for NonIndexed jobs"));
  }
  const auto completions = int_at(object, {"spec", "completions"});
  if (completions.value_or(1) != int_at(object, {"spec", "parallelism"}).value_or(1)) {
    errors.push_back(invalid("spec.completions", completions ? json(*completions) : json(),
                             "should be equal to parallelism when " +
                                 std::string(kCompletionsEqualParallelismAnnotation) + " annotation is true"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "sync_completions_format",
    .matches = {{"batch", "jobs"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::sync_completions_format
