#include "mutators/serving_template.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/edit.h"
#include "jobs/management.h"
#include "jobs/topology.h"
#include "mutators/refusal.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

void set_annotation(json& pod_template, std::string_view key, std::string_view value) {
  if (json* annotations = jobs::make_object(pod_template, {"metadata", "annotations"}))
    (*annotations)[std::string(key)] = value;
}

void copy_label(const json& object, std::string_view key, json& pod_template) {
  const std::string_view value = label(object, key).value_or("");
  if (!value.empty()) jobs::set_label(pod_template, key, value);
}

bool has_leader(const json& object) {
  return jobs::existing_object(object, {"spec", "leaderWorkerTemplate", "leaderTemplate"}) != nullptr;
}

void edit_template(const Review& review, const jobs::JobKind& kind, const json& object,
                   const jobs::PodTemplateRef& ref) {
  json& pod_template = *ref.template_json;
  if (&kind == &jobs::stateful_set) {
    // Another object creates this object, and has marked it.
    const auto parent = annotation(pod_template, kSuspendingParent);
    if (!parent || parent == kind.framework) set_annotation(pod_template, kSuspendingParent, kind.framework);
    return;
  }
  set_annotation(pod_template, kSuspendingParent, kind.framework);
  copy_label(object, kQueueNameLabel, pod_template);
  copy_label(object, kPriorityClassLabel, pod_template);
  if (&kind == &jobs::deployment) return jobs::set_label(pod_template, kManagedLabel, kManagedLabelValue);
  set_annotation(pod_template, kPodGroupServing, "true");
  const bool counts_after_leader = ref.name == "worker" && has_leader(object) &&
                                   !annotation(pod_template, jobs::kPodSetGroupName) &&
                                   review.settings.enabled(Gate::kTopologyAwareScheduling);
  if (counts_after_leader) set_annotation(pod_template, jobs::kPodIndexOffset, "1");
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (kind == nullptr || !kind->is_serving()) return std::nullopt;
  if (!string_at(object, {"metadata", "deletionTimestamp"}).empty()) return std::nullopt;
  const auto queued = jobs::is_queued(review, object);
  if (!queued) return refusal(queued.error());
  if (!*queued) return std::nullopt;
  const json before = object;
  for (const jobs::PodTemplateRef& ref : kind->pod_templates(object)) edit_template(review, *kind, before, ref);
  return std::nullopt;
}

}  // namespace

const Mutator serving_template = {
    .name = "serving_template",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
