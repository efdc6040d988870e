// The Workloads of a StatefulSet and of a LeaderWorkerSet count pods of one shape. So the requests of the pods
// and their placement cannot change while the object is in a queue, and neither can the size of a
// LeaderWorkerSet's groups.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/pods/pod_shape.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::serving_shape {
namespace {

using nlohmann::json;
using Ordered = nlohmann::ordered_json;

constexpr const char* kImmutable = "field is immutable";

FieldError immutable(const FieldPath& field, const Ordered& value) {
  return {field, FieldErrorType::kInvalid, value.dump(-1, ' ', false, json::error_handler_t::replace), kImmutable};
}

bool same_length(const Ordered& before, const Ordered& after) {
  return before.is_array() && after.is_array() && before.size() == after.size();
}

void compare_containers(const FieldPath& place, const Ordered& before, const Ordered& after, FieldErrors& errors) {
  if (!same_length(before, after)) {
    if (before != after) errors.push_back(immutable(place, after));
    return;
  }
  for (size_t i = 0; i < after.size(); ++i) {
    const FieldPath container = place.index(i);
    const Ordered &old_requests = before[i]["resources"]["requests"], &requests = after[i]["resources"]["requests"];
    if (old_requests != requests) errors.push_back(immutable(container.child("resources").child("requests"), requests));
    if (before[i]["ports"] != after[i]["ports"])
      errors.push_back(immutable(container.child("ports"), after[i]["ports"]));
  }
}

void compare_specs(const FieldPath& place, const json& before, const json& after, FieldErrors& errors) {
  const Ordered old_shape = pod_shape(object_at(before, {"spec"})), shape = pod_shape(object_at(after, {"spec"}));
  const FieldPath spec = place.child("spec");
  for (const auto& [key, value] : shape.items()) {
    const Ordered old_value = old_shape.value(key, Ordered());
    if (key == "containers" || key == "initContainers")
      compare_containers(spec.child(key), old_value, value, errors);
    else if (old_value != value)
      errors.push_back(immutable(spec.child(key), value));
  }
}

const json* template_at(const json& object, std::string_view key) {
  return find_path(object, {"spec", "leaderWorkerTemplate", key});
}

void compare_leaders(const json& before, const json& after, FieldErrors& errors) {
  const FieldPath place("spec.leaderWorkerTemplate.leaderTemplate");
  const json *old_leader = template_at(before, "leaderTemplate"), *leader = template_at(after, "leaderTemplate");
  if ((old_leader == nullptr) != (leader == nullptr)) {
    errors.push_back(invalid(place, leader == nullptr ? json() : *leader, kImmutable));
  } else if (leader != nullptr) {
    compare_specs(place, *old_leader, *leader, errors);
  }
}

void compare_groups(const RuleSettings& settings, const json& before, const json& after, FieldErrors& errors) {
  const FieldPath place("spec.leaderWorkerTemplate");
  const auto size_of = [](const json& object) {
    return int_at(object, {"spec", "leaderWorkerTemplate", "size"}).value_or(1);
  };
  if (settings.enabled(Gate::kLWSImmutableGroupSize) && size_of(before) != size_of(after))
    errors.push_back(invalid(place.child("size"), size_of(after), kImmutable));
  compare_leaders(before, after, errors);
  const json *old_worker = template_at(before, "workerTemplate"), *worker = template_at(after, "workerTemplate");
  if (old_worker != nullptr && worker != nullptr)
    compare_specs(place.child("workerTemplate"), *old_worker, *worker, errors);
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (kind != &jobs::stateful_set && kind != &jobs::leader_worker_set) return {};
  const json &before = review.request.old_object, &after = review.request.object;
  const auto queued = jobs::is_queued(review, after);
  if (queued && !*queued) return {};
  FieldErrors errors;
  if (kind == &jobs::leader_worker_set)
    compare_groups(review.settings, before, after, errors);
  else
    compare_specs(FieldPath("spec.template"), object_at(before, {"spec", "template"}),
                  object_at(after, {"spec", "template"}), errors);
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "serving_shape",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::serving_shape
