// The controller of a job (metadata.ownerReferences) determines which quota the job uses. Only users who can
// start queued jobs or create the Jobs of JobSets can choose it. Rejected, for example, is an UPDATE that gives
// a Job in a LocalQueue this controller:
//
//   ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: other, controller: true}]
//
// A part of a queued job cannot lose its controller either: its pods would run on, and the quota of the whole would be
// given back. Garbage collection takes it off only where the controller is gone or being deleted.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::queued_controller {
namespace {

using nlohmann::json;

bool same(const OwnerReference& one, const OwnerReference& other) {
  return one.uid == other.uid && one.name == other.name && one.kind == other.kind &&
         group_of(one.api_version) == group_of(other.api_version);
}

bool is_part_of_queued(const Review& review, const json& object) {
  const jobs::MaybeAncestor ancestor = jobs::managed_ancestor(review, object);
  return ancestor.ok() && *ancestor;
}

std::string as_part(const Review& review) {
  return "this " + review.request.kind + " is part of a job that is queued";
}

std::optional<std::string> state_of(const Review& review) {
  const json &before = review.request.old_object, &after = review.request.object;
  if (jobs::is_queued_by_itself(review, before)) return "this " + review.request.kind + " is queued";
  if (is_part_of_queued(review, before)) return as_part(review);
  if (is_part_of_queued(review, after)) return "that controller is queued";
  return std::nullopt;
}

bool stays(const Review& review, const OwnerReference& controller) {
  const OwnerFacts* facts = review.view.owner(group_of(controller.api_version), controller.kind,
                                              jobs::namespace_of(review.request), controller.name);
  return facts != nullptr && facts->uid == controller.uid && !facts->deleting;
}

std::optional<std::string> change_of(const Review& review) {
  if (!jobs::enabled_kind(review) || jobs::is_admitter(review)) return std::nullopt;
  const auto before = controller_of(review.request.old_object), after = controller_of(review.request.object);
  if (before && after && same(*before, *after)) return std::nullopt;
  if (after) return state_of(review);
  if (!before || !stays(review, *before) || !is_part_of_queued(review, review.request.old_object)) return std::nullopt;
  return as_part(review);
}

FieldErrors check(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kEnforce) return {};
  const auto state = change_of(review);
  if (!state) return {};
  return {forbidden("metadata.ownerReferences", *state + ", and a controller says whose quota the pods use; user \"" +
                                                    review.request.user.username +
                                                    "\" cannot add, change or remove it. Leave it as it is, or create "
                                                    "the " +
                                                    review.request.kind + " again")};
}

std::vector<std::string> warn(const Review& review) {
  if (review.settings.suspend_guard != SuspendGuard::kObserve) return {};
  const auto state = change_of(review);
  if (!state) return {};
  return {"metadata.ownerReferences: " + *state +
          ", and a controller says whose quota the pods use; with suspendGuard: enforce this is rejected"};
}

}  // namespace

extern const Validator rule = {
    .name = "queued_controller",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::queued_controller
