// A request for slices of pods must contain the size of a slice. Rejected, for example:
//
//   topologyRequest: {podSetSliceRequiredTopology: rack}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_topology_slices {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& pod_set : jobs::pod_sets_of(review.request.object)) {
    const std::string field = FieldPath("spec.podSets").index(i++).child("topologyRequest").child("podSetSliceSize");
    const json& request = object_at(pod_set, {"topologyRequest"});
    const bool sliced = find_path(request, {"podSetSliceRequiredTopology"}) != nullptr;
    const auto size = int_at(request, {"podSetSliceSize"});
    if (size && *size <= 0) {
      errors.push_back(invalid(field, *size, "must be greater than 0"));
    } else if (sliced && !size) {
      errors.push_back(required(field, "must be set when podSetSliceRequiredTopology is specified"));
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "workload_topology_slices",
    .matches = {{"kueue.x-k8s.io", "workloads"}, {"kueue.x-k8s.io", "workloads/status"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
};

}  // namespace muster::validators::workload_topology_slices
