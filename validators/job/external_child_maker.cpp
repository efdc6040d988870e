// A Job below an admitted object of integrations.externalFrameworks runs on the quota of that
// object, and no Workload counts its pods. muster does not know the controller of such a kind, so
// only admitters can make Jobs below its objects, where a Job would otherwise be queued by itself.
// Rejected, for example, is the creation of a Job by a user with
//
//   labels: {kueue.x-k8s.io/queue-name: main}
//   ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: train, controller: true}]
//
// when RayJob `train` is admitted. Not in force without admitters: a person runs muster.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::external_child_maker {
namespace {

// The reason why the user cannot create this job; empty: no reason.
std::string claim(const Review& review) {
  if (!jobs::enabled_kind(review) || review.settings.admitters.empty() || jobs::is_admitter(review)) return "";
  if (!jobs::is_queued_by_itself(review, review.request.object)) return "";
  const jobs::MaybeAncestor ancestor = jobs::managed_ancestor(review, review.request.object);
  if (!ancestor.ok() || !*ancestor || !(*ancestor)->external) return "";
  return jobs::text_of(**ancestor) + " is queued, and its controller makes its Jobs";
}

FieldErrors check(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kEnforce) return {};
  const std::string why = claim(review);
  if (why.empty()) return {};
  return {forbidden("metadata.ownerReferences",
                    why + "; remove the controller from the object, or, if user \"" + review.request.user.username +
                        "\" is that controller, ask an administrator to add the user to admitters")};
}

std::vector<std::string> warn(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kObserve) return {};
  const std::string why = claim(review);
  if (why.empty()) return {};
  return {"metadata.ownerReferences: " + why + "; with suspendGuard: enforce this is rejected"};
}

}  // namespace

extern const Validator rule = {
    .name = "external_child_maker",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::external_child_maker
