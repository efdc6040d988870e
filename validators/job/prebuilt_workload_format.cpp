#include <nlohmann/json.hpp>

#include "api/meta/names.h"
#include "jobs/management.h"
#include "jobs/prebuilt_workload.h"
#include "validators/validator.h"

namespace muster::validators::prebuilt_workload_format {
namespace {

FieldErrors complaints_about(const jobs::JobKind& kind, const jobs::PrebuiltWorkloadName& prebuilt) {
  FieldErrors errors;
  const auto complaints = is_dns1123_subdomain(prebuilt.name);
  if (!complaints.empty()) errors.push_back(invalid(prebuilt.field, prebuilt.name, join(complaints, ",")));
  if (!kind.takes_prebuilt_workloads()) {
    errors.push_back(forbidden(prebuilt.field, "Is not supported for \"" + std::string(kind.type.api_version) +
                                                   ", Kind=" + std::string(kind.type.kind) + "\""));
  }
  return errors;
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::checked_kind(review);
  if (!kind || kind->is_serving()) return {};
  const auto prebuilt = jobs::prebuilt_workload_name_of(review.settings, review.request.object);
  if (!prebuilt) return {};
  // Of the kinds whose updates are not checked like their creation, an update that can change the name is.
  const bool may_change =
      kind->stopped(review.request.object) || jobs::is_elastic(review.settings, review.request.old_object);
  if (jobs::kind_of_checked_forms(review) == nullptr && !may_change) return {};
  return complaints_about(*kind, *prebuilt);
}

}  // namespace

extern const Validator rule = {
    .name = "prebuilt_workload_format",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::prebuilt_workload_format
