#include <array>

#include "api/conversion/conversion_fields.h"

namespace muster::conversion {
namespace {

using nlohmann::json;

// The source of a priority in v1beta1, and the reference in v1beta2.
struct PriorityClassForm {
  std::string_view source, group, kind;
};
constexpr std::array kPriorityClassForms = {
    PriorityClassForm{"kueue.x-k8s.io/workloadpriorityclass", "kueue.x-k8s.io", "WorkloadPriorityClass"},
    PriorityClassForm{"scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"},
};

bool has_text(const json& value) {
  return value.is_string() && !value.get_ref<const std::string&>().empty();
}

// A name without a known source has no meaning, and is lost.
void to_priority_class_ref(Fields& spec) {
  json name = take(spec, "priorityClassName");
  const json source = take(spec, "priorityClassSource");
  drop(spec, {"priorityClassRef"});
  for (const PriorityClassForm& form : kPriorityClassForms) {
    if (source != form.source) continue;
    json& reference = spec["priorityClassRef"] = {{"group", form.group}, {"kind", form.kind}};
    if (has_text(name)) reference["name"] = std::move(name);
    return;
  }
}

void to_priority_class_source(Fields& spec) {
  json reference = take(spec, "priorityClassRef");
  drop(spec, {"priorityClassName", "priorityClassSource"});
  auto* parts = reference.get_ptr<Fields*>();
  if (parts == nullptr) return;
  const json group = take(*parts, "group"), kind = take(*parts, "kind");
  for (const PriorityClassForm& form : kPriorityClassForms) {
    if (group != form.group || kind != form.kind) continue;
    spec["priorityClassSource"] = form.source;
    if (json name = take(*parts, "name"); has_text(name)) spec["priorityClassName"] = std::move(name);
  }
}

// Go prints these fields of a pod set and of its pods also if they are empty.
void convert_pod_set(Fields& pod_set, QueueVersion to) {
  fill(pod_set, "count", 0);
  if (Fields* pod_template = made_object(pod_set, "template")) {
    made_object(*pod_template, "metadata");
    if (Fields* pod = made_object(*pod_template, "spec")) {
      fill(*pod, "containers", nullptr);
      for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
        for_each_object(*pod, list, [](Fields& container) {
          fill(container, "name", "");
          fill(container, "resources", json::object());
        });
      }
    }
  }
  if (to == QueueVersion::kV1Beta2) return;
  if (Fields* request = object_at(pod_set, "topologyRequest"))
    drop(*request, {"podsetSliceRequiredTopologyConstraints"});
}

Outcome<> convert_assignments(Fields& admission, QueueVersion to, ConversionBudget& budget) {
  fill(admission, "clusterQueue", "");
  fill(admission, "podSetAssignments", nullptr);
  Outcome<> outcome = Done{};
  size_t index = 0;
  for_each_object(admission, "podSetAssignments", [&](Fields& assignment) {
    fill(assignment, "name", "");
    if (Fields* usage = object_at(assignment, "resourceUsage")) {
      for (auto& [resource, amount] : *usage) canonical_quantity(amount);
    }
    const std::string path = "status.admission.podSetAssignments[" + std::to_string(index++) + "].topologyAssignment.";
    Fields* topology = object_at(assignment, "topologyAssignment");
    if (topology == nullptr || !outcome) return;
    if (auto converted = convert_topology(*topology, to, budget); !converted)
      outcome = fail(path + converted.error().message);
  });
  return outcome;
}

}  // namespace

Outcome<> convert_workload(Fields& spec, Fields& status, QueueVersion to, ConversionBudget& budget) {
  constexpr std::string_view kOldSeconds = "accumulatedPastExexcutionTimeSeconds";  // v1beta1 has it so
  constexpr std::string_view kSeconds = "accumulatedPastExecutionTimeSeconds";
  if (to == QueueVersion::kV1Beta2) {
    to_priority_class_ref(spec);
    rename(status, kOldSeconds, kSeconds);
  } else {
    to_priority_class_source(spec);
    rename(status, kSeconds, kOldSeconds);
  }
  // Only v1beta2 has these fields: in an object of v1beta1 they are unknown fields.
  drop(spec, {"preemptionGates"});
  drop(status, {"preemptionGates"});
  drop_empty(spec, {"queueName"});
  fill(spec, "podSets", nullptr);
  for_each_object(spec, "podSets", [to](Fields& pod_set) { convert_pod_set(pod_set, to); });
  convert_conditions(status);
  Fields* admission = object_at(status, "admission");
  return admission == nullptr ? Outcome<>(Done{}) : convert_assignments(*admission, to, budget);
}

}  // namespace muster::conversion
