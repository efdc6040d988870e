// An in-place restart of pods needs JobSet's feature gate InPlaceRestart. Its Jobs must never fail by
// themselves, and all their pods must exist at the same time. Rejected, for example, without the gate:
//
//   failurePolicy: {restartStrategy: InPlaceRestart}
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/feature_gates.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_in_place_restart {
namespace {

using nlohmann::json;

constexpr int64_t kNever = std::numeric_limits<int32_t>::max();

json member_of(const json& object, std::string_view key) {
  const json* found = find_path(object, {key});
  return found ? *found : json();
}

void check_job(const json& replicated_job, const FieldPath& path, FieldErrors& errors) {
  const json& job = object_at(replicated_job, {"template", "spec"});
  const std::string who = "replicatedJob " + std::string(string_at(replicated_job, {"name"})) + ": ";
  if (int_at(job, {"backoffLimit"}) != kNever) {
    errors.push_back(
        invalid(path.child("backoffLimit"), member_of(job, "backoffLimit"),
                who + "must be set to " + std::to_string(kNever) + " (MaxInt32) when in-place restart is enabled"));
  }
  if (string_at(job, {"podReplacementPolicy"}) != "Failed") {
    errors.push_back(invalid(path.child("podReplacementPolicy"), member_of(job, "podReplacementPolicy"),
                             who + "must be set to Failed when in-place restart is enabled"));
  }
  const std::optional<int64_t> completions = jobs::completions_of(replicated_job);
  if (!completions || completions != jobs::parallelism_of(replicated_job)) {
    errors.push_back(invalid(path.child("completions"), member_of(job, "completions"),
                             who + "completions and parallelism must be set and equal to each other when in-place "
                                   "restart is enabled"));
  }
}

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  if (!jobs::restarts_in_place(jobset)) return {};
  if (!review.settings.jobset_enabled(kInPlaceRestartGate)) {
    return {invalid("spec.failurePolicy.restartStrategy", "InPlaceRestart",
                    "InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled")};
  }
  FieldErrors errors;
  size_t i = 0;
  for (const json& replicated_job : jobs::replicated_jobs_of(jobset)) {
    check_job(replicated_job, FieldPath("spec.replicatedJobs").index(i++).child("template").child("spec"), errors);
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_in_place_restart",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_in_place_restart
