// Keeps the start barrier (KEP-498) of an existing gang unchanged.
//
// Applying the manifest of a gang again requests templates without the barrier, which the API server and
// JobSet's webhook would refuse as a change of an immutable template. So the injected parts are copied from the
// old object. They are never computed again: after an upgrade of muster, or of its settings, a new barrier
// would differ.
//
// Only the epoch changes, when a suspended gang resumes: its pods are new, and no other field on them
// distinguishes the runs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"
#include "jobs/edit.h"
#include "jobs/group_scheduling.h"
#include "mutators/group_scheduling.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// Puts `old_list[old_index]` back to its place, instead of muster's items in `list`.
void restore(json& list, std::optional<size_t> index, const json& old_list, size_t old_index) {
  if (index) list.erase(*index);
  const size_t place = std::min(old_index, list.size());
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(place), old_list[old_index]);
}

// A container with the reserved name that muster did not add is left for the validators, which refuse it.
bool holds_stranger(const json& list, std::string_view name, bool (*is_ours)(const json&)) {
  return std::any_of(list.begin(), list.end(),
                     [&](const json& item) { return string_at(item, {"name"}) == name && !is_ours(item); });
}

void keep_waiter(const json& old_template, json& pod_template) {
  const std::optional<size_t> old_index = jobs::find_waiter(old_template);
  if (!old_index) return;
  json* list = jobs::make_template_list(pod_template, "initContainers");
  if (list == nullptr || holds_stranger(*list, kGroupInitContainer, jobs::is_waiter)) return;
  restore(*list, jobs::find_waiter(pod_template), array_at(old_template, {"spec", "initContainers"}), *old_index);
}

void keep_volume(const json& old_template, json& pod_template) {
  const std::optional<size_t> old_index = jobs::find_barrier_volume(old_template);
  if (!old_index) return;
  json* list = jobs::make_template_list(pod_template, "volumes");
  if (list == nullptr || holds_stranger(*list, kGroupVolume, jobs::is_barrier_volume)) return;
  restore(*list, jobs::find_barrier_volume(pod_template), array_at(old_template, {"spec", "volumes"}), *old_index);
}

// A value that existed before is restored; a value that did not exist is removed.
void keep_value(const json& old_template, json& pod_template, std::string_view map, std::string_view key) {
  const json* old_value = find_path(old_template, {"metadata", map, key});
  if (old_value == nullptr && find_path(pod_template, {"metadata", map, key}) == nullptr) return;
  json* values = jobs::make_object(pod_template, {"metadata", map});
  if (values == nullptr) return;
  if (old_value != nullptr) {
    (*values)[std::string(key)] = *old_value;
  } else {
    values->erase(std::string(key));
  }
}

void set_epoch(json& pod_template, std::string_view epoch) {
  json* annotations = jobs::make_object(pod_template, {"metadata", "annotations"});
  if (annotations != nullptr) (*annotations)[std::string(kGroupEpochAnnotation)] = epoch;
}

// Whether this update begins a new run. A JobSet's templates can change while it is suspended. A Job's
// templates can change only before its first start, or after its suspension is complete (Kubernetes 1.36). With
// another template the API server would refuse the resume itself, so then the same run continues with its old
// epoch.
bool begins_run(const jobs::JobKind& kind, const json& old_object, const json& object) {
  if (!kind.suspended(old_object) || kind.suspended(object)) return false;
  if (&kind == &jobs::jobset) return true;
  if (int_at(old_object, {"status", "active"}).value_or(0) != 0) return false;
  if (string_at(old_object, {"status", "startTime"}).empty()) return true;
  return condition_is_true(read_conditions(array_at(old_object, {"status", "conditions"})), "Suspended");
}

// A Job inside a gang JobSet waits for the JobSet's ConfigMap: the JobSet controller sets its template with the
// epoch. The template shows this, also if the configuration is lost (JobSet's CRD was installed again without
// the field).
bool has_own_barrier(const jobs::JobKind& kind, const json& object, const json& pod_template) {
  const std::optional<size_t> volume = jobs::find_barrier_volume(pod_template);
  if (!volume || !jobs::find_waiter(pod_template)) return false;
  return jobs::is_group_config_map_of(
      kind, string_at(object, {"metadata", "name"}),
      string_at(array_at(pod_template, {"spec", "volumes"})[*volume], {"configMap", "name"}));
}

std::optional<MutationError> keep(const Review& review, json& object) {
  const AdmissionRequest& request = review.request;
  const jobs::JobKind* kind = jobs::find_job_kind(request.group, request.kind);
  if (kind == nullptr) return std::nullopt;

  const bool new_run = begins_run(*kind, request.old_object, object);
  std::vector<jobs::PodTemplateRef> templates = kind->pod_templates(object);
  for (const jobs::ConstPodTemplateRef& old : kind->read_pod_templates(request.old_object)) {
    if (!has_own_barrier(*kind, request.old_object, *old.template_json)) continue;
    const auto ref = std::find_if(templates.begin(), templates.end(),
                                  [&](const jobs::PodTemplateRef& candidate) { return candidate.name == old.name; });
    if (ref == templates.end()) continue;
    keep_waiter(*old.template_json, *ref->template_json);
    keep_volume(*old.template_json, *ref->template_json);
    keep_value(*old.template_json, *ref->template_json, "labels", kGroupLabel);
    keep_value(*old.template_json, *ref->template_json, "annotations", kGroupOnTimeoutAnnotation);
    const auto old_epoch = annotation(*old.template_json, kGroupEpochAnnotation);
    if (new_run) {
      set_epoch(*ref->template_json, request.uid);
    } else if (old_epoch) {
      set_epoch(*ref->template_json, *old_epoch);
    }
  }
  return std::nullopt;
}

}  // namespace

const Mutator group_scheduling_keep = {
    .name = "group_scheduling_keep",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kUpdate},
    .mutate = keep,
};

}  // namespace muster::mutators
