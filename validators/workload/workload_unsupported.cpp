// A feature of a Workload that muster does not support is refused by name, and is not ignored: an assigned
// topology, another cluster, preemption gates. A topology request is not an error: such a Workload stays
// pending, as in a ClusterQueue of Kueue whose flavors have no topology. Rejected, for example:
//
//   preemptionGates: [{name: example.com/later}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/validator.h"

namespace muster::validators::workload_unsupported {
namespace {

using nlohmann::json;

constexpr std::string_view kNoTopology =
    "topology-aware scheduling is not supported by muster; leave it out, pods are then placed by the scheduler alone";
constexpr std::string_view kNoOtherCluster =
    "muster does not send Workloads to other clusters (MultiKueue); leave it out";

bool says_something(const json* value) {
  return value != nullptr && !value->is_null() && *value != false && !(value->is_array() && value->empty());
}

void refuse(FieldErrors& errors, const FieldPath& path, const json& owner, std::string_view key, std::string_view why) {
  if (says_something(find_path(owner, {key}))) errors.push_back(forbidden(path.child(key), std::string(why)));
}

FieldErrors unsupported_in(const json& workload) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& assignment : array_at(workload, {"status", "admission", "podSetAssignments"})) {
    const FieldPath path = FieldPath("status.admission.podSetAssignments").index(i++);
    refuse(errors, path, assignment, "topologyAssignment", kNoTopology);
    refuse(errors, path, assignment, "delayedTopologyRequest", kNoTopology);
  }
  const FieldPath status_path("status");
  const json& status = object_at(workload, {"status"});
  refuse(errors, status_path, status, "clusterName", kNoOtherCluster);
  refuse(errors, status_path, status, "nominatedClusterNames", kNoOtherCluster);
  refuse(errors, status_path, status, "unhealthyNodes", kNoTopology);
  constexpr std::string_view kNoGates = "gates on preemption are not supported by muster; leave them out";
  refuse(errors, FieldPath("spec"), object_at(workload, {"spec"}), "preemptionGates", kNoGates);
  refuse(errors, status_path, status, "preemptionGates", kNoGates);
  return errors;
}

FieldErrors check(const Review& review) {
  return new_errors(review, unsupported_in);
}

}  // namespace

extern const Validator rule = {
    .name = "workload_unsupported",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::workload_unsupported
