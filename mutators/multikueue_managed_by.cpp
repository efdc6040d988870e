#include "mutators/multikueue_managed_by.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/management.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

bool may_set(const jobs::JobKind& kind, const json& object) {
  if (kind.managed_by_path().empty()) return false;
  const json* manager = kind.managed_by_path().find(object);
  return manager == nullptr || manager->is_null() || *manager == std::string(kind.default_manager);
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (!kind || !review.settings.enabled(Gate::kMultiKueue) || !may_set(*kind, object)) return std::nullopt;
  if (!review.view.uses_multikueue(jobs::namespace_of(review.request), jobs::queue_name_of(object)))
    return std::nullopt;
  kind->managed_by_path().set(object, kMultiKueueControllerName);
  return std::nullopt;
}

}  // namespace

const Mutator multikueue_managed_by = {
    .name = "multikueue_managed_by",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
