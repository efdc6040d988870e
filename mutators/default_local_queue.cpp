#include "mutators/default_local_queue.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/management.h"
#include "mutators/refusal.h"

namespace muster::mutators {
namespace {

std::optional<MutationError> mutate_one(const Review& review, nlohmann::json& object) {
  if (!jobs::gets_defaults(review) || !jobs::queue_name_of(object).empty()) return std::nullopt;
  if (!review.view.local_queue(jobs::namespace_of(review.request), kDefaultLocalQueueName)) return std::nullopt;
  if (jobs::has_enabled_controller(review.settings, object) || annotation(object, kSuspendingParent))
    return std::nullopt;

  const auto managed = jobs::in_managed_namespace(review);
  if (!managed.ok()) return refusal(managed.error());
  if (*managed) jobs::set_label(object, kQueueNameLabel, kDefaultLocalQueueName);
  return std::nullopt;
}

}  // namespace

const Mutator default_local_queue = {
    .name = "default_local_queue",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
