// Pods: suspended by a scheduling gate, stopped by deletion. The reconcilers treat a single pod or a group of
// pods as one job (PodGroup).
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/pods/pod_phase.h"
#include "jobs/edit.h"
#include "jobs/job_kind.h"
#include "jobs/pod/pod_group.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(Json& pod) {
  // A pod is its own pod template.
  return {{"main", FieldPath(""), &pod, 1}};
}

const PodGroup& group_of(const TypedObject& object) {
  return *std::get<PodGroupPtr>(object);
}

class PodKind final : public JobKind {
 public:
  PodKind() : JobKind(kQueuedPods, "pod", "", false) {}

  bool has_own_reconciler() const override { return true; }
  const ValuePath& managed_by_path() const override {
    static const ValuePath none;
    return none;
  }

  bool suspended(const json& pod) const override {
    if (pod_has_ended(pod)) return true;
    for (const json& gate : array_at(pod, {"spec", "schedulingGates"})) {
      if (string_at(gate, {"name"}) == kAdmissionGate) return true;
    }
    return false;
  }
  const ValuePath& suspend_path() const override {
    static const ValuePath path = *ValuePath::parse("spec.schedulingGates");
    return path;
  }
  // A gate can be added to a pod only at its creation (mutators/pod_gates.cpp). muster removes it.
  void set_suspend(json& pod, bool suspend) const override {
    json* spec = make_object(pod, {"spec"});
    if (spec == nullptr || suspended(pod) == suspend || !suspend) return;
    json& gates = (*spec)["schedulingGates"];
    if (gates.is_null()) gates = json::array();
    if (gates.is_array()) gates.push_back({{"name", kAdmissionGate}});
  }
  std::vector<PodTemplateRef> pod_templates(json& pod) const override { return templates(pod); }
  std::vector<ConstPodTemplateRef> read_pod_templates(const json& pod) const override { return templates(pod); }

  bool suspended(const TypedObject& pods) const override { return jobs::suspended(group_of(pods)); }
  std::string_view managed_by(const TypedObject&) const override { return {}; }
  bool forms_are_checked_on_update() const override { return false; }
  bool readable(const TypedObject&) const override { return true; }
  bool active(const TypedObject& pods) const override { return group_of(pods).active; }
  bool pods_ready(const TypedObject& pods) const override { return jobs::pods_ready(group_of(pods)); }
  std::optional<JobEnd> end(const TypedObject& pods) const override { return end_of(group_of(pods)); }
  std::vector<ReclaimablePod> reclaimable_pods(const TypedObject& pods) const override {
    return jobs::reclaimable_pods(group_of(pods));
  }
  std::vector<PodSet> pod_set_shapes(const TypedObject& pods, const RuleSettings&) const override {
    auto pod_sets = pod_sets_of(group_of(pods));
    return pod_sets ? *std::move(pod_sets) : std::vector<PodSet>();
  }
  json topology_labels(const TypedObject&, size_t) const override { return {{"podIndexLabel", kPodGroupPodIndex}}; }

  json edit(const TypedObject&, const std::vector<json>& template_patches,
            const std::vector<PodSetInfo>*) const override {
    return template_patches.empty() ? json() : template_patches.front();
  }
  // Each of its pods is deleted instead.
  json suspend_patch(bool) const override { return json::object(); }
};

const PodKind kPod;

}  // namespace

const JobKind& plain_pod = kPod;

}  // namespace muster::jobs
