// The overhead of the RuntimeClass that a pod names.
#include <algorithm>

#include "api/workload.h"
#include "state/cluster_state.h"
#include "state/demand/demand_source.h"
#include "state/quota_demand.h"

namespace muster::state {
namespace {

void fill_class_overhead(const PodSpec& spec, std::string_view, const ClusterState& state, PodResources& resources) {
  if (spec.runtime_class.empty()) return;
  if (const RuntimeClass* found = state.find<RuntimeClass>(spec.runtime_class)) fill_overhead(resources, *found);
}

// Only pending Workloads, because select() sorts what it finds.
void workloads_of_class(const TypedObject& changed, const ClusterState& state, std::vector<WorkloadPtr>& workloads) {
  const auto* runtime_class = std::get_if<RuntimeClassPtr>(&changed);
  if (runtime_class == nullptr) return;
  const auto names_it = [&](const PodSet& pod_set) {
    return pod_set.pod_template.spec->runtime_class == (*runtime_class)->meta.name;
  };
  for (const TypedObject* object : state.select(kWorkloads, [&](const TypedObject& candidate) {
         const Workload& workload = *std::get<WorkloadPtr>(candidate);
         return asks_for_quota(workload) && std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(), names_it);
       }))
    workloads.push_back(std::get<WorkloadPtr>(*object));
}

}  // namespace

extern const DemandSource runtime_class_source{
    .name = "runtime_class", .fill = &fill_class_overhead, .affected = &workloads_of_class};

}  // namespace muster::state
