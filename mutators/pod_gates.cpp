#include "mutators/pod_gates.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/queued_pod.h"
#include "jobs/edit.h"
#include "jobs/management.h"
#include "mutators/refusal.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

void add_gate(json& pod, std::string_view name) {
  json* spec = jobs::make_object(pod, {"spec"});
  if (spec == nullptr) return;
  json& gates = (*spec)["schedulingGates"];
  if (gates.is_null()) gates = json::array();
  if (!gates.is_array()) return;
  const bool there =
      std::any_of(gates.begin(), gates.end(), [&](const json& gate) { return string_at(gate, {"name"}) == name; });
  if (!there) gates.push_back({{"name", name}});
}

void add_role(json& pod) {
  if (annotation(pod, kRoleHashAnnotation)) return;
  const std::string role = role_of(pod);
  if (json* annotations = jobs::make_object(pod, {"metadata", "annotations"}))
    (*annotations)[std::string(kRoleHashAnnotation)] = role;
}

// The number of the pod in its group, under the name that the group's Workload knows.
void copy_index(json& pod) {
  const auto key = annotation(pod, kPodGroupPodIndexLabel);
  if (key) jobs::set_label(pod, kPodGroupPodIndex, std::string(label(pod, *key).value_or("")));
}

std::optional<MutationError> mutate_one(const Review& review, json& pod) {
  if (jobs::enabled_kind(review) != &jobs::plain_pod) return std::nullopt;
  if (!annotation(pod, kSuspendingParent)) {
    const auto managed = jobs::in_managed_namespace(review);
    if (!managed) return refusal(managed.error());
    if (!*managed) return std::nullopt;
    const auto queued = jobs::is_queued(review, pod);
    if (!queued) return refusal(queued.error());
    if (!*queued) return std::nullopt;
    jobs::set_label(pod, kManagedLabel, kManagedLabelValue);
  }
  // muster watches pods by this label. Kueue gives it later to pods that have a parent.
  if (!label(pod, kManagedLabel)) jobs::set_label(pod, kManagedLabel, kManagedLabelValue);
  add_gate(pod, kAdmissionGate);
  if (review.settings.enabled(Gate::kTopologyAwareScheduling)) {
    add_gate(pod, kTopologyGate);
    copy_index(pod);
  }
  add_role(pod);
  return std::nullopt;
}

}  // namespace

const Mutator pod_gates = {
    .name = "pod_gates",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
