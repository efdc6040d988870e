// Only the JobSet controller, muster or JobSet's own, can create Jobs of a queued JobSet: the Workload of the JobSet
// counts the Jobs of its spec. Rejected, for example, is the creation of a Job by a user with
//
//   ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: train, controller: true}]
//
// when JobSet `train` is in a LocalQueue. The rule is off where the account of the controller is unknown: a person runs
// muster, or muster did not find the webhooks of JobSet.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::jobset_child_maker {
namespace {

// Of the parts of other kinds (a RayJob's submitter, a TrainJob's JobSet) their own controllers are the makers.
bool says_it_is_of_a_jobset(const Review& review) {
  const auto controller = controller_of(review.request.object);
  return controller && jobs::find_owner_kind(*controller, review.settings) == &jobs::jobset;
}

bool knows_the_maker(const RuleSettings& settings) {
  return settings.runs_jobsets() ? !settings.admitters.empty() : !settings.jobset_controller.empty();
}

std::string maker(const RuleSettings& settings) {
  return settings.runs_jobsets() ? "muster" : "JobSet's controller";
}

std::optional<jobs::ManagedAncestor> claimed_by(const Review& review) {
  if (!jobs::enabled_kind(review) || !knows_the_maker(review.settings) || jobs::is_admitter(review))
    return std::nullopt;
  if (!says_it_is_of_a_jobset(review)) return std::nullopt;
  const jobs::MaybeAncestor ancestor = jobs::managed_ancestor(review, review.request.object);
  // For children of other controllers see validators/job/external_child_maker.cpp.
  if (!ancestor.ok() || !*ancestor || (*ancestor)->external) return std::nullopt;
  return *ancestor;
}

FieldErrors check(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kEnforce) return {};
  const auto ancestor = claimed_by(review);
  if (!ancestor) return {};
  return {forbidden("metadata.ownerReferences", jobs::text_of(*ancestor) + " is queued, and " + maker(review.settings) +
                                                    " makes its Jobs, not user \"" + review.request.user.username +
                                                    "\"; leave the controller out")};
}

std::vector<std::string> warn(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kObserve) return {};
  const auto ancestor = claimed_by(review);
  if (!ancestor) return {};
  return {"metadata.ownerReferences: " + jobs::text_of(*ancestor) + " is queued, and " + maker(review.settings) +
          " makes its Jobs; with suspendGuard: enforce this is rejected"};
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_child_maker",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::jobset_child_maker
