// A StatefulSet in a queue has one Workload for all of its pods, so it can be scaled only to zero and from
// zero, and only after the pods of its last run are deleted. A LeaderWorkerSet has one Workload for each group,
// and at most a million groups.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::serving_replicas {
namespace {

using nlohmann::json;

constexpr int64_t kMostGroups = 1'000'000;

FieldPath field() {
  return FieldPath("spec.replicas");
}

FieldErrors check_groups(const json& object) {
  const auto replicas = int_at(object, {"spec", "replicas"});
  const std::string start = "invalid LeaderWorkerSet replicas: must be ";
  if (replicas && *replicas < 0) return {invalid(field(), *replicas, start + ">= 0, got " + std::to_string(*replicas))};
  if (replicas && *replicas > kMostGroups)
    return {invalid(field(), *replicas,
                    start + "<= " + std::to_string(kMostGroups) + ", got " + std::to_string(*replicas))};
  return {};
}

FieldErrors check_set(const json& before, const json& after) {
  const auto was = int_at(before, {"spec", "replicas"}), is = int_at(after, {"spec", "replicas"});
  if (was == is || is == 0) return {};
  if (was != 0) return {invalid(field(), is ? json(*is) : json(), "field is immutable")};
  if (int_at(after, {"status", "replicas"}).value_or(0) > 0)
    return {forbidden(field(), "scaling down is still in progress")};
  return {};
}

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (kind != &jobs::stateful_set && kind != &jobs::leader_worker_set) return {};
  const auto queued = jobs::is_queued(review, review.request.object);
  if (queued && !*queued) return {};
  if (kind == &jobs::leader_worker_set) return check_groups(review.request.object);
  const bool updates = review.request.operation == Operation::kUpdate;
  return updates ? check_set(review.request.old_object, review.request.object) : FieldErrors();
}

}  // namespace

extern const Validator rule = {
    .name = "serving_replicas",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::serving_replicas
