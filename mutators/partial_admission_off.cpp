#include "mutators/partial_admission_off.h"

#include <nlohmann/json.hpp>

#include "jobs/edit.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  if (review.settings.enabled(Gate::kPartialAdmission)) return std::nullopt;
  json* pod_sets = jobs::existing_array(object, {"spec", "podSets"});
  for (size_t i = 0; pod_sets != nullptr && i < pod_sets->size(); ++i) {
    if ((*pod_sets)[i].is_object()) (*pod_sets)[i].erase("minCount");
  }
  return std::nullopt;
}

}  // namespace

const Mutator partial_admission_off = {
    .name = "partial_admission_off",
    .matches = {{"kueue.x-k8s.io", "workloads"}},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
