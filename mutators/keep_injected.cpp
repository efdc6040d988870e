#include "mutators/keep_injected.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/edit.h"
#include "jobs/management.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// Only if a value must be restored: a map that is created here stays.
void put_back_map(const json& stored, json& pod_template, std::initializer_list<std::string_view> path) {
  const json& present = object_at(stored, path);
  if (present.empty()) return;
  json* map = jobs::make_object(pod_template, path);
  if (map == nullptr) return;
  for (const auto& [key, value] : present.items()) map->emplace(key, value);
}

// The stored list, if it contains all requested items.
void put_back_tolerations(const json& stored, json& pod_template) {
  const json& present = array_at(stored, {"spec", "tolerations"});
  const json& wanted = array_at(pod_template, {"spec", "tolerations"});
  const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](const json& toleration) {
    return std::find(present.begin(), present.end(), toleration) != present.end();
  });
  if (present.empty() || !has_all) return;
  if (json* spec = jobs::make_object(pod_template, {"spec"})) (*spec)["tolerations"] = present;
}

// The template with the additions of the stored template; the same template if other parts differ too.
void keep(const json& stored, json& pod_template) {
  if (pod_template == stored) return;
  json restored = pod_template;
  put_back_map(stored, restored, {"metadata", "labels"});
  put_back_map(stored, restored, {"metadata", "annotations"});
  put_back_map(stored, restored, {"spec", "nodeSelector"});
  put_back_tolerations(stored, restored);
  if (restored == stored) pod_template = std::move(restored);
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const json& stored = review.request.old_object;
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (!kind || kind->suspended(stored) || kind->suspended(object)) return std::nullopt;
  if (!review.view.is_admitted(string_at(stored, {"metadata", "uid"}))) return std::nullopt;
  std::vector<jobs::PodTemplateRef> templates = kind->pod_templates(object);
  for (const jobs::ConstPodTemplateRef& old : kind->read_pod_templates(stored)) {
    const auto same_name = [&](const jobs::PodTemplateRef& candidate) { return candidate.name == old.name; };
    const auto ref = std::find_if(templates.begin(), templates.end(), same_name);
    if (ref != templates.end()) keep(*old.template_json, *ref->template_json);
  }
  return std::nullopt;
}

}  // namespace

const Mutator keep_injected = {
    .name = "keep_injected",
    .matches = {kQueuedJobs},
    .operations = {Operation::kUpdate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
