// The defaults and the bounds of the LimitRanges of a namespace.
#include "state/cluster_state.h"
#include "state/demand/demand_source.h"
#include "state/index/indexes.h"

namespace muster::state {
namespace {

void fill_range_defaults(const PodSpec&, std::string_view ns, const ClusterState& state, PodResources& resources) {
  fill_defaults(resources, state.by(kLimitRangesByNamespace, {"", ns}));
}

void check_ranges(const DemandContext& context, DemandDraft& draft) {
  const std::vector<const LimitRange*> limit_ranges = context.state.by(kLimitRangesByNamespace, {"", context.ns});
  if (limit_ranges.empty()) return;
  FieldErrors outside_ranges;
  for (size_t i = 0; i < draft.pods.size(); ++i)
    append(outside_ranges, check_limit_ranges(draft.pods[i].resources, limit_ranges, path_of_pod(i)));
  draft.refuse("resources didn't satisfy LimitRange constraints", outside_ranges);
}

void workloads_of_range(const TypedObject& changed, const ClusterState& state, std::vector<WorkloadPtr>& workloads) {
  const auto* limit_range = std::get_if<LimitRangePtr>(&changed);
  if (limit_range == nullptr) return;
  const std::vector<WorkloadPtr> found = state.share_in(kWorkloadsByQueue, (*limit_range)->meta.ns);
  workloads.insert(workloads.end(), found.begin(), found.end());
}

}  // namespace

extern const DemandSource limit_range_source{
    .name = "limit_range", .fill = &fill_range_defaults, .add = &check_ranges, .affected = &workloads_of_range};

}  // namespace muster::state
