#include <nlohmann/json.hpp>

#include "api/meta/names.h"
#include "jobs/management.h"
#include "jobs/prebuilt_workload.h"
#include "validators/validator.h"

namespace muster::validators::prebuilt_workload_format {
namespace {

// For an update that can change the name, Kueue checks it a second time; so tools that count causes find the
// same number here.
size_t times_looked_at(const Review& review, const jobs::JobKind& kind) {
  if (review.request.operation != Operation::kUpdate) return 1;
  const bool may_change =
      kind.stopped(review.request.object) || jobs::is_elastic(review.settings, review.request.old_object);
  return may_change ? 2 : 1;
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (!kind || kind->is_serving()) return {};
  const auto prebuilt = jobs::prebuilt_workload_name_of(review.settings, review.request.object);
  if (!prebuilt) return {};
  if (!kind->takes_prebuilt_workloads()) {
    if (jobs::kind_of_checked_forms(review) == nullptr) return {};
    return {forbidden(prebuilt->field, "Is not supported for \"" + std::string(kind->type.api_version) +
                                           ", Kind=" + std::string(kind->type.kind) + "\"")};
  }
  const auto complaints = is_dns1123_subdomain(prebuilt->name);
  if (complaints.empty()) return {};
  return FieldErrors(times_looked_at(review, *kind), invalid(prebuilt->field, prebuilt->name, join(complaints, ",")));
}

}  // namespace

extern const Validator rule = {
    .name = "prebuilt_workload_format",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::prebuilt_workload_format
