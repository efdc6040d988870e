#include "mutators/multikueue_managed_by.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/management.h"

namespace muster {
namespace {

using nlohmann::json;

bool may_set(const JobKind& kind, const json& object) {
  const json* manager = find_path(object, {"spec", "managedBy"});
  return !manager || manager->is_null() || string_at(object, {"spec", "managedBy"}) == kind.default_manager;
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const JobKind* kind = enabled_kind(review);
  if (!kind || !review.settings.enabled("MultiKueue") || !may_set(*kind, object)) return std::nullopt;
  if (!review.view.uses_multikueue(namespace_of(review.request), queue_name_of(object))) return std::nullopt;
  if (json* spec = make_object(object, {"spec"})) (*spec)["managedBy"] = kMultiKueueControllerName;
  return std::nullopt;
}

}  // namespace

const Mutator multikueue_managed_by = {
    .name = "multikueue_managed_by",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster
