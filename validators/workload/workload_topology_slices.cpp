// A request for slices of pods names the level and the size of a slice together, and sizes are positive. Rejected, for
// example:
//
//   topologyRequest: {podSetSliceRequiredTopology: rack}
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queue_fields.h"
#include "validators/validator.h"

namespace muster::validators::workload_topology_slices {
namespace {

using nlohmann::json;

constexpr const char* kPositive = "must be greater than 0";

void check_size(FieldErrors& errors, const FieldPath& path, const json& request) {
  const bool has_level = find_path(request, {"podSetSliceRequiredTopology"}) != nullptr;
  const auto size = int_at(request, {"podSetSliceSize"});
  if (size && !has_level) {
    errors.push_back(forbidden(path, "may not be set when podSetSliceRequiredTopology is not specified"));
  } else if (has_level && !size) {
    errors.push_back(required(path, "must be set when podSetSliceRequiredTopology is specified"));
  } else if (size && *size <= 0) {
    errors.push_back(invalid(path, *size, kPositive));
  }
}

FieldErrors check(const Review& review) {
  FieldErrors errors;
  size_t i = 0;
  for (const json& pod_set : jobs::pod_sets_of(review.request.object)) {
    const FieldPath path = FieldPath("spec.podSets").index(i++).child("topologyRequest");
    const json& request = object_at(pod_set, {"topologyRequest"});
    check_size(errors, path.child("podSetSliceSize"), request);
    const FieldPath layers = path.child("podsetSliceRequiredTopologyConstraints");
    size_t layer = 0;
    for (const json& constraint : array_at(request, {"podsetSliceRequiredTopologyConstraints"})) {
      const int64_t size = int_at(constraint, {"size"}).value_or(0);
      if (size <= 0) errors.push_back(invalid(layers.index(layer).child("size"), size, kPositive));
      ++layer;
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
