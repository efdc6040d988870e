#include "mutators/elastic_scheduling_gate.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/json.h"
#include "jobs/edit.h"
#include "jobs/management.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kGate = "kueue.x-k8s.io/elastic-job";

void add_gate(json& pod_template) {
  json* spec = make_object(pod_template, {"spec"});
  if (!spec) return;
  json& gates = (*spec)["schedulingGates"];
  if (gates.is_null()) gates = json::array();
  if (!gates.is_array()) return;
  const bool present =
      std::any_of(gates.begin(), gates.end(), [](const json& gate) { return string_at(gate, {"name"}) == kGate; });
  if (!present) gates.push_back({{"name", kGate}});
}

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const JobKind* kind = enabled_kind(review);
  if (!kind || !is_elastic(review.settings, object)) return std::nullopt;
  for (PodTemplateRef& pod_template : kind->pod_templates(object)) add_gate(*pod_template.template_json);
  return std::nullopt;
}

}  // namespace

const Mutator elastic_scheduling_gate = {
    .name = "elastic_scheduling_gate",
    .matches = {{"batch", "jobs"}},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster
