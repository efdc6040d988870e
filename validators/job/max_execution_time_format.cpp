#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::max_execution_time_format {
namespace {

FieldErrors check(const Review& review) {
  const auto text = label(review.request.object, kMaxExecTimeLabel);
  const jobs::JobKind* kind = jobs::kind_of_checked_forms(review);
  if (kind == nullptr || kind->is_serving() || !text) return {};
  const std::string field = FieldPath("metadata.labels").key(kMaxExecTimeLabel);
  const auto seconds = go_atoi(*text);
  if (!seconds.ok()) return {invalid(field, *text, seconds.error().message)};
  if (*seconds <= 0) return {invalid(field, *seconds, "should be greater than 0")};
  return {};
}

}  // namespace

extern const Validator rule = {
    .name = "max_execution_time_format",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::max_execution_time_format
