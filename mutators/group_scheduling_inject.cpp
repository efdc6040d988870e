// Adds the start barrier (KEP-498) to the pod templates of a new gang, with the data that the reconciler needs
// later: JobSet's CRD can lose the field that requested the barrier.
//
// It can run more than once for one request (reinvocationPolicy IfNeeded), each time with another uid, and on
// manifests that were copied from an existing gang. So it replaces its own earlier additions, and the container
// is last again after other webhooks.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/encoding.h"
#include "jobs/edit.h"
#include "jobs/group_scheduling.h"
#include "mutators/group_scheduling.h"
#include "mutators/waiter_container.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// Five characters of the alphabet that Kubernetes uses for generated names: no vowels, so no words, and no
// characters that look alike.
std::string name_suffix(std::string_view request_uid) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  const std::string digest = sha256_hex(request_uid);
  uint64_t number = 0;
  std::from_chars(digest.data(), digest.data() + 15, number, 16);
  std::string suffix;
  for (int i = 0; i < 5; ++i, number /= kAlphabet.size()) suffix += kAlphabet[number % kAlphabet.size()];
  return suffix;
}

// The job's name. The ConfigMap is named after it, so it cannot wait until the API server completes
// generateName. Empty if the job has neither name.
std::string settle_name(std::string_view request_uid, json& job) {
  std::string name(string_at(job, {"metadata", "name"}));
  std::string prefix(string_at(job, {"metadata", "generateName"}));
  if (!name.empty() || prefix.empty()) return name;
  // Names of Jobs and JobSets become label values: 63 characters at most.
  constexpr size_t kMaxPrefix = 63 - 5;
  prefix.resize(std::min(prefix.size(), kMaxPrefix));
  name = prefix + name_suffix(request_uid);
  job["metadata"]["name"] = name;
  return name;
}

void replace_at_end(json& list, std::optional<size_t> old, json item) {
  if (old) list.erase(*old);
  list.push_back(std::move(item));
}

// Whether the user has an object with a reserved name that muster did not add. If the barrier were added too,
// the API server would complain about a duplicate name without an explanation. If it is not added, the
// validator names the owner of the name.
bool name_is_taken(const json& pod_template) {
  auto takes = [&](std::string_view list, std::string_view name, bool (*is_ours)(const json&)) {
    for (const json& item : array_at(pod_template, {"spec", list})) {
      if (string_at(item, {"name"}) == name && !(is_ours && is_ours(item))) return true;
    }
    return false;
  };
  return takes("containers", kGroupInitContainer, nullptr) ||
         takes("initContainers", kGroupInitContainer, jobs::is_waiter) ||
         takes("volumes", kGroupVolume, jobs::is_barrier_volume);
}

std::optional<MutationError> inject(const Review& review, json& object) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return std::nullopt;
  // A configuration that cannot be used gets no barrier; the validators report the reason for the refusal.
  const std::optional<jobs::GroupConfig> config = jobs::group_config(*kind, object);
  if (!config) return std::nullopt;
  const std::string name = settle_name(review.request.uid, object);
  if (name.empty()) return std::nullopt;

  const ContainerMinimum minimum = review.view.container_minimum(review.request.namespace_);
  for (jobs::PodTemplateRef& ref : kind->pod_templates(object)) {
    if (!config->has_target(ref.name) || name_is_taken(*ref.template_json)) continue;
    json& pod_template = *ref.template_json;
    json* annotations = jobs::make_object(pod_template, {"metadata", "annotations"});
    json* labels = jobs::make_object(pod_template, {"metadata", "labels"});
    json* init_containers = jobs::make_template_list(pod_template, "initContainers");
    json* volumes = jobs::make_template_list(pod_template, "volumes");
    if (annotations == nullptr || labels == nullptr || init_containers == nullptr || volumes == nullptr) continue;

    replace_at_end(*init_containers, jobs::find_waiter(pod_template),
                   waiter_container(*kind, review.settings.waiter, *config, pod_template["spec"], minimum));
    replace_at_end(*volumes, jobs::find_barrier_volume(pod_template),
                   barrier_volume(jobs::group_config_map_name(*kind, name)));
    (*annotations)[std::string(kGroupEpochAnnotation)] = review.request.uid;
    (*labels)[std::string(kGroupLabel)] = kGroupLabelValue;
    if (config->on_timeout == jobs::GroupTimeoutAction::kSuspend) {
      (*annotations)[std::string(kGroupOnTimeoutAnnotation)] = jobs::kGroupActionSuspend;
    } else {
      annotations->erase(std::string(kGroupOnTimeoutAnnotation));
    }
  }
  return std::nullopt;
}

}  // namespace

const Mutator group_scheduling_inject = {
    .name = "group_scheduling_inject",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .mutate = inject,
};

}  // namespace muster::mutators
