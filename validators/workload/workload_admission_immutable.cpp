// An admission can be added or removed, but not changed. Rejected, for example:
//
//   admission: {clusterQueue: a} -> admission: {clusterQueue: b}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/edit.h"
#include "jobs/queue_text.h"
#include "jobs/typed_text.h"
#include "validators/validator.h"

namespace muster::validators::workload_admission_immutable {
namespace {

using nlohmann::json;

// Where pods go within a topology is decided after the admission.
json without_topology(const json& admission) {
  json rest = admission;
  json* assignments = jobs::existing_array(rest, {"podSetAssignments"});
  for (size_t i = 0; assignments && i < assignments->size(); ++i) {
    if (!(*assignments)[i].is_object()) continue;
    (*assignments)[i].erase("topologyAssignment");
    (*assignments)[i].erase("delayedTopologyRequest");
  }
  return rest;
}

FieldErrors check(const Review& review) {
  const json* now = find_path(review.request.object, {"status", "admission"});
  const json* before = find_path(review.request.old_object, {"status", "admission"});
  if (!now || !before || !now->is_object() || !before->is_object() || *now == *before) return {};
  if (jobs::same_in_typed_api(without_topology(*now), without_topology(*before))) return {};
  return {{"status.admission", FieldErrorType::kInvalid, jobs::print_admission(*now), "field is immutable"}};
}

}  // namespace

extern const Validator rule = {
    .name = "workload_admission_immutable",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_admission_immutable
