#include "state/quota_demand.h"

#include <algorithm>

#include "api/texts/unmet_requests.h"
#include "api/workload.h"
#include "state/cluster_state.h"
#include "state/pod_requests.h"
#include "state/unsupported.h"

namespace muster::state {
namespace {

// The requests of a Workload, as quota counts them, and the reason why it can never run.
struct Demand {
  std::vector<Requests> per_pod;
  std::string misconfigured;
};

bool claims_devices(const Workload& workload, const QueueSettings& settings) {
  return settings.rules.enabled(Gate::kKueueDRARejectWorkloadsWhenDRADisabled) &&
         std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                     [](const PodSet& pod_set) { return pod_set.pod_template.spec->resource_claims; });
}

// The form of Kueue's messages: one error alone, several errors in brackets.
std::string misconfigured(std::string_view what, const FieldErrors& errors) {
  std::string list;
  for (const FieldError& error : errors) list += (list.empty() ? "" : ", ") + error.text();
  return std::string(what) + ": " + (errors.size() > 1 ? "[" + list + "]" : list);
}

Demand demand_of(const Workload& workload, const ClusterState& state, const QueueSettings& settings) {
  Demand demand;
  const std::vector<const LimitRange*> limit_ranges = state.limit_ranges_in(workload.meta.ns);
  FieldErrors beyond_limits, outside_ranges;
  for (size_t i = 0; i < workload.pod_sets.size(); ++i) {
    const PodSpec& spec = *workload.pod_sets[i].pod_template.spec;
    const PodResources resources = adjusted_resources(spec, defaults_for(spec, workload.meta.ns, state));
    const FieldPath path = FieldPath("spec.podSets").index(i).child("template").child("spec");
    append(beyond_limits, check_limits(resources, path));
    if (!limit_ranges.empty()) append(outside_ranges, check_limit_ranges(resources, limit_ranges, path));
    demand.per_pod.push_back(quota_requests(pod_requests(resources), settings));
  }
  if (claims_devices(workload, settings)) {
    demand.misconfigured = kClaimsDevices;
    return demand;
  }
  if (!beyond_limits.empty())
    demand.misconfigured = misconfigured("resources validation failed", beyond_limits);
  else if (!outside_ranges.empty())
    demand.misconfigured = misconfigured("resources didn't satisfy LimitRange constraints", outside_ranges);
  return demand;
}

}  // namespace

// Workloads with quota and finished Workloads are counted by their admission, not by their requests.
bool asks_for_quota(const Workload& workload) {
  return !workload.finished() && !(workload.has_quota_reserved() && workload.status.admission);
}

QuotaDemand quota_demand_of(const Workload& workload, const ClusterState& state, const QueueSettings& settings) {
  Demand demand = asks_for_quota(workload) ? demand_of(workload, state, settings) : Demand();
  if (std::string why = why_never_admitted(workload, settings); !why.empty()) demand.misconfigured = std::move(why);
  return {std::move(demand.per_pod), std::move(demand.misconfigured), can_be_stopped(workload, settings)};
}

std::vector<Requests> quota_requests_of(const Workload& workload, const ClusterState& state,
                                        const QueueSettings& settings) {
  return demand_of(workload, state, settings).per_pod;
}

}  // namespace muster::state
