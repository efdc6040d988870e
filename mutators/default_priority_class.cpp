#include "mutators/default_priority_class.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/management.h"
#include "mutators/refusal.h"

namespace muster::mutators {
namespace {

// In a namespace that is managed, and by itself, for an owner of an enabled kind has been ruled out before.
Result<bool, jobs::Undecided> in_some_queue(const Review& review, const nlohmann::json& object) {
  if (jobs::queue_name_of(object).empty() && !review.settings.manage_jobs_without_queue_name) return false;
  return jobs::in_managed_namespace(review);
}

std::optional<MutationError> mutate_one(const Review& review, nlohmann::json& object) {
  if (!jobs::gets_defaults(review) || !label(object, kPriorityClassLabel).value_or("").empty()) return std::nullopt;
  if (!review.settings.enabled(Gate::kWorkloadPriorityClassDefaulting)) return std::nullopt;
  if (!review.view.has_workload_priority_class(kDefaultPriorityClassName)) return std::nullopt;
  if (jobs::has_enabled_controller(review.settings, object) || annotation(object, kSuspendingParent))
    return std::nullopt;

  const auto queued = in_some_queue(review, object);
  if (!queued.ok()) return refusal(queued.error());
  if (*queued) jobs::set_label(object, kPriorityClassLabel, kDefaultPriorityClassName);
  return std::nullopt;
}

}  // namespace

const Mutator default_priority_class = {
    .name = "default_priority_class",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
