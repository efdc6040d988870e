// The content of a JobSet and its controller are fixed at its creation. Four things can change: in a suspended
// JobSet, or with the change that suspends it, the parts of the pod templates by which a queue places pods; in a JobSet
// that was suspended before, with the gate MutablePodResourcesForSuspendedJobSets, requests and limits of containers;
// with JobSet's gate ElasticJobSet the number of pods, under the rules of jobset_elastic; and the fields
// outside of the templates. Rejected, for example:
//
//   replicas: 1 -> replicas: 2
//
// JobSet's webhook prints the whole list; here each error has the path and the new value of the field that changed.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/feature_gates.h"
#include "jobs/edit.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/typed_text.h"
#include "validators/validator.h"

namespace muster::validators::jobset_immutable {
namespace {

using nlohmann::json;

void copy_member(const json& from, json& to, std::string_view key) {
  const auto found = from.find(key);
  if (found != from.end()) {
    to[std::string(key)] = *found;
  } else {
    to.erase(std::string(key));
  }
}

void copy_pod_counts(const json& old_job, json& job) {
  json* spec = jobs::make_object(job, {"template", "spec"});
  if (!spec) return;
  for (const char* key : {"parallelism", "completions"}) {
    copy_member(object_at(old_job, {"template", "spec"}), *spec, key);
  }
}

void copy_placement(const json& old_job, json& job) {
  const json& old_template = object_at(old_job, {"template", "spec", "template"});
  json* metadata = jobs::make_object(job, {"template", "spec", "template", "metadata"});
  json* spec = jobs::make_object(job, {"template", "spec", "template", "spec"});
  if (!metadata || !spec) return;
  for (const char* key : {"labels", "annotations"}) {
    copy_member(object_at(old_template, {"metadata"}), *metadata, key);
  }
  for (const char* key : {"nodeSelector", "tolerations", "schedulingGates"}) {
    copy_member(object_at(old_template, {"spec"}), *spec, key);
  }
}

// By the names of the containers; claims do not change.
void copy_resources(const json& old_job, json& job) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    const json& old_containers = array_at(old_job, {"template", "spec", "template", "spec", list});
    json* pod_spec = jobs::existing_object(job, {"template", "spec", "template", "spec"});
    if (!pod_spec || !(*pod_spec)[std::string(list)].is_array()) continue;
    for (json& container : (*pod_spec)[std::string(list)]) {
      const auto same = std::find_if(old_containers.begin(), old_containers.end(), [&](const json& old) {
        return string_at(old, {"name"}) == string_at(container, {"name"});
      });
      if (same == old_containers.end()) continue;
      json* resources = jobs::make_object(container, {"resources"});
      if (!resources) continue;
      for (const char* key : {"requests", "limits"}) copy_member(object_at(*same, {"resources"}), *resources, key);
      if (resources->empty() && !same->contains("resources")) container.erase("resources");
    }
  }
}

// The new list, with the old values of the fields that can change.
json without_allowed_changes(const Review& review) {
  const json& old_object = review.request.old_object;
  const json& object = review.request.object;
  const bool elastic = review.settings.jobset_enabled(kElasticJobSetGate);
  const bool suspended = bool_at(old_object, {"spec", "suspend"}) || bool_at(object, {"spec", "suspend"});
  const bool resizable =
      review.settings.jobset_enabled(kMutableResourcesGate) && bool_at(old_object, {"spec", "suspend"});
  json list = jobs::replicated_jobs_of(object);
  for (json& job : list) {
    const json* old_job = jobs::find_replicated_job(old_object, string_at(job, {"name"}));
    if (!old_job) continue;
    if (elastic && jobs::is_indexed(job)) copy_pod_counts(*old_job, job);
    if (suspended) copy_placement(*old_job, job);
    if (resizable) copy_resources(*old_job, job);
  }
  return list;
}

FieldErrors check(const Review& review) {
  const json& old_object = review.request.old_object;
  const json& object = review.request.object;
  FieldErrors errors;
  if (jobs::replicated_jobs_of(object) != jobs::replicated_jobs_of(old_object)) {
    errors = jobs::changes_in_typed_api(jobs::replicated_jobs_of(old_object), without_allowed_changes(review),
                                        FieldPath("spec.replicatedJobs"), "field is immutable");
  }
  const json* manager = find_path(object, {"spec", "managedBy"});
  const json* old_manager = find_path(old_object, {"spec", "managedBy"});
  const json said = manager ? *manager : json();
  if (said != (old_manager ? *old_manager : json())) {
    errors.push_back(invalid("spec.managedBy", said, "field is immutable"));
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_immutable",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_immutable
