#include "mutators/suspend.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "mutators/refusal.h"

namespace muster::mutators {
namespace {

// The owners of an object that is being deleted can already be deleted.
bool skips_deleted(const Review& review, const nlohmann::json& object) {
  return !string_at(object, {"metadata", "deletionTimestamp"}).empty() &&
         review.settings.enabled(Gate::kSkipAncestorCheckForDeletedWorkloads);
}

std::optional<MutationError> mutate_one(const Review& review, nlohmann::json& object) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  // Pods have gates instead.
  if (!kind || kind == &jobs::plain_pod || kind->is_serving() || skips_deleted(review, object)) return std::nullopt;

  const auto queued = jobs::is_queued(review, object);
  if (!queued.ok()) return refusal(queued.error());
  if (*queued && !kind->suspended(object)) kind->set_suspend(object, true);
  return std::nullopt;
}

}  // namespace

const Mutator suspend = {
    .name = "suspend",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
