// A user who suspends an admitted job does not stop it: its Workload still has the quota, so muster resumes the job
// within seconds, and the pods of a Job start again from the beginning. That is allowed, as in Kueue; the user gets a
// warning that names what stops a job. An elastic job is suspended so that it can change.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::suspended_while_admitted {
namespace {

FieldErrors check(const Review&) {
  return {};
}

std::vector<std::string> warn(const Review& review) {
  const AdmissionRequest& request = review.request;
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  // Where a person runs muster, muster is not known by its name.
  if (kind == nullptr || review.settings.admitters.empty() || jobs::is_admitter(review)) return {};
  if (!kind->suspended(request.object) || kind->suspended(request.old_object)) return {};
  if (!jobs::is_queued_by_itself(review, request.old_object) || jobs::is_elastic(review.settings, request.object))
    return {};
  if (!review.view.is_admitted(string_at(request.old_object, {"metadata", "uid"}))) return {};
  return {kind->suspend_path().text() + ": this " + request.kind +
          " is admitted, so muster resumes it in a moment; to stop it, set spec.active to false in its Workload "
          "(kubectl muster stop workload)"};
}

}  // namespace

extern const Validator rule = {
    .name = "suspended_while_admitted",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::suspended_while_admitted
