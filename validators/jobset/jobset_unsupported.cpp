// What JobSet's own controller can do and muster cannot is refused by name, rather than
// left undone: exclusive placement, volume claim policies, in-place restart, and
// failure policy actions that restart a single Job. Rejected, for example:
//
//   metadata: {annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}
//
// A JobSet that another controller manages is not muster's to run; and one that came
// with such a feature, from a time before muster, can still be changed and ended.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kWayOut = "; leave it out, or run JobSet's own controller beside muster";

FieldError refuse(const FieldPath& path, std::string_view feature) {
  return forbidden(path, std::string(feature) + " is not supported where muster runs JobSets" + std::string(kWayOut));
}

void find_exclusive_placement(const json& owner, const FieldPath& metadata, FieldErrors& found) {
  if (!annotation(owner, kExclusiveTopologyAnnotation)) return;
  found.push_back(refuse(metadata.child("annotations").key(kExclusiveTopologyAnnotation), "exclusive placement"));
}

FieldErrors unsupported_in(const json& jobset) {
  FieldErrors found;
  find_exclusive_placement(jobset, FieldPath("metadata"), found);
  size_t i = 0;
  for (const json& replicated_job : replicated_jobs_of(jobset)) {
    const json& job = object_at(replicated_job, {"template"});
    const FieldPath path = FieldPath("spec.replicatedJobs").index(i++).child("template");
    find_exclusive_placement(job, path.child("metadata"), found);
    find_exclusive_placement(object_at(job, {"spec", "template"}),
                             path.child("spec").child("template").child("metadata"), found);
  }
  if (!array_at(jobset, {"spec", "volumeClaimPolicies"}).empty()) {
    found.push_back(refuse(FieldPath("spec.volumeClaimPolicies"), "making volume claims (volumeClaimPolicies)"));
  }
  if (restarts_in_place(jobset)) {
    found.push_back(refuse(FieldPath("spec.failurePolicy.restartStrategy"), "in-place restart (InPlaceRestart)"));
  }
  i = 0;
  for (const json& rule : array_at(jobset, {"spec", "failurePolicy", "rules"})) {
    const FieldPath path = FieldPath("spec.failurePolicy.rules").index(i++).child("action");
    if (!restarts_single_job(rule)) continue;
    found.push_back(refuse(path, "restarting a single Job (" + std::string(string_at(rule, {"action"})) + ")"));
  }
  return found;
}

FieldErrors check(const Review& review) {
  if (is_managed_elsewhere(review.request.object)) return {};
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator jobset_unsupported;
const Validator jobset_unsupported = {
    .name = "jobset_unsupported",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .native_jobsets = true,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster
