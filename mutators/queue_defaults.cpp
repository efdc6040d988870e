#include "mutators/queue_defaults.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/edit.h"
#include "jobs/queue_fields.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

void add_finalizer(json& object) {
  json* metadata = jobs::make_object(object, {"metadata"});
  if (metadata == nullptr) return;
  json& finalizers = (*metadata)["finalizers"];
  if (finalizers.is_null()) finalizers = json::array();
  if (!finalizers.is_array()) return;
  if (std::find(finalizers.begin(), finalizers.end(), kResourceInUseFinalizer) == finalizers.end()) {
    finalizers.push_back(kResourceInUseFinalizer);
  }
}

size_t size_of(const json* list) {
  return list != nullptr ? list->size() : 0;
}

void state_quotas(json& object) {
  json* groups = jobs::existing_array(object, {"spec", "resourceGroups"});
  for (size_t i = 0; i < size_of(groups); ++i) {
    json* flavors = jobs::existing_array((*groups)[i], {"flavors"});
    for (size_t j = 0; j < size_of(flavors); ++j) {
      json* quotas = jobs::existing_array((*flavors)[j], {"resources"});
      for (size_t k = 0; k < size_of(quotas); ++k) {
        json& quota = (*quotas)[k];
        if (quota.is_object() && !quota.contains("nominalQuota")) quota["nominalQuota"] = "0";
      }
    }
  }
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  add_finalizer(object);
  if (review.request.resource == "clusterqueues") state_quotas(object);
  return std::nullopt;
}

}  // namespace

const Mutator queue_defaults = {
    .name = "queue_defaults",
    .matches = {{"kueue.x-k8s.io", "clusterqueues"}, {"kueue.x-k8s.io", "resourceflavors"}},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
