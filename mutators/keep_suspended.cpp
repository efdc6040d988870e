#include "mutators/keep_suspended.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// Whether a manager's fields hold the value at a path. A manager that owns an object on the path as a whole, which is
// written as `{}`, owns all values in it.
bool owns(const json& manager, const ValuePath& path) {
  const json* fields = find_path(manager, {"fieldsV1"});
  if (fields == nullptr || !fields->is_object() || fields->empty()) return false;
  for (const std::string& step : path.steps()) {
    if (fields->is_object() && fields->empty()) return true;
    fields = find_path(*fields, {"f:" + step});
    if (fields == nullptr) return false;
  }
  return true;
}

// Without managedFields it is unknown which client has set which field.
bool nobody_owns_suspend(const jobs::JobKind& kind, const json& object) {
  const json& managers = array_at(object, {"metadata", "managedFields"});
  return !managers.empty() && std::none_of(managers.begin(), managers.end(),
                                           [&](const json& manager) { return owns(manager, kind.suspend_path()); });
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  // The API server itself refuses a gate that is added later.
  if (kind == &jobs::plain_pod || (kind != nullptr && kind->is_serving())) return std::nullopt;
  if (!kind || !kind->suspended(review.request.old_object) || kind->suspended(object)) return std::nullopt;
  if (!nobody_owns_suspend(*kind, object)) return std::nullopt;
  // A doubt about the owners is no reason to start anything, and none to refuse an update.
  const auto queued = jobs::is_queued(review, review.request.old_object);
  if (!queued.ok() || *queued) kind->set_suspend(object, true);
  return std::nullopt;
}

}  // namespace

const Mutator keep_suspended = {
    .name = "keep_suspended",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
