#include "scheduler/views/flavor_options.h"

#include <algorithm>

#include "api/requests.h"
#include "scheduler/flavor_assignment.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

// The requests of the smallest size of a pod set, and its current flavors.
struct Wanted {
  ResourceId resource;
  int64_t amount;
  std::string assigned;
};

// The smallest size, because partial admission can choose it (KEP-420): a flavor that has room for it is an option.
std::vector<Wanted> wanted_while_waiting(const SchedulerState& state, const WorkloadState& workload, size_t index) {
  const PodSetState& pod_set = workload.pod_sets[index];
  const int32_t count = std::min(pod_set.count, workload.object->pod_sets[index].min_count.value_or(pod_set.count));
  std::vector<Wanted> wanted;
  for (const ResourceAmount& request : pod_set.per_pod)
    wanted.push_back({request.resource, saturating_multiply(request.amount, count), {}});
  if (workload.queue->covers_pods) {
    std::erase_if(wanted, [&](const Wanted& one) { return one.resource == state.pods; });
    wanted.push_back({state.pods, count, {}});
  }
  return wanted;
}

// After a reservation the requests are not kept; the admission has them.
std::vector<Wanted> wanted_with_quota(const WorkloadState& workload, const QueueGroup& group, const QuotaIdTable& names,
                                      size_t index) {
  const PodSet& pod_set = workload.object->pod_sets[index];
  const PodSetAssignment* assignment = workload.object->status.admission->find(pod_set.name);
  std::vector<Wanted> wanted;
  if (assignment == nullptr) return wanted;
  const int32_t count = std::max(assignment->count.value_or(pod_set.count), 1);
  for (const ResourceId resource : group.resources) {
    const std::string& name = names.resource_name(resource);
    const auto flavor = assignment->flavors.find(name);
    if (flavor == assignment->flavors.end()) continue;
    const auto usage = assignment->resource_usage.find(name);
    int64_t amount = usage == assignment->resource_usage.end() ? 0 : to_amount(name, usage->second);
    // One pod first, as amounts are divided everywhere (KEP-78).
    if (pod_set.min_count) amount = amount / count * std::min(count, *pod_set.min_count);
    wanted.push_back({resource, amount, flavor->second});
  }
  return wanted;
}

// The maximum without any usage: other Workloads end, so their usage does not exclude a flavor.
int64_t most_of(const SchedulerState& state, const QueueState& queue, FlavorId flavor, ResourceId resource) {
  for (const QuotaId quota : state.ledger.quotas(queue.node)) {
    const auto [its_flavor, its_resource] = state.names.quota(quota);
    if (its_flavor == flavor && its_resource == resource) return state.ledger.potential(queue.node, quota);
  }
  return 0;
}

}  // namespace

std::vector<FlavorOptions> flavor_options(const SchedulerState& state, const std::string& ns, const std::string& name) {
  std::vector<FlavorOptions> all;
  const WorkloadState* workload = state.find_workload(ns, name);
  if (workload == nullptr || workload->queue == nullptr || workload->queue->object == nullptr) return all;
  const QueueState& queue = *workload->queue;
  const bool has_quota = workload->object->status.admission.has_value();
  for (size_t i = 0; i < workload->object->pod_sets.size(); ++i) {
    const PodSet& pod_set = workload->object->pod_sets[i];
    for (const QueueGroup& group : queue.groups) {
      std::vector<Wanted> wanted =
          has_quota ? wanted_with_quota(*workload, group, state.names, i) : wanted_while_waiting(state, *workload, i);
      std::erase_if(wanted, [&](const Wanted& one) { return !group.covers(one.resource); });
      if (wanted.empty()) continue;
      // All resources of a group have the same flavor, so the first one says which.
      FlavorOptions options{.pod_set = pod_set.name, .assigned = wanted.front().assigned, .eligible = {}};
      for (const FlavorId flavor : group.flavors) {
        const bool enough = std::all_of(wanted.begin(), wanted.end(), [&](const Wanted& one) {
          return one.amount <= most_of(state, queue, flavor, one.resource);
        });
        if (enough && !why_ineligible(state, flavor, pod_set))
          options.eligible.push_back(state.names.flavor_name(flavor));
      }
      all.push_back(std::move(options));
    }
  }
  return all;
}

}  // namespace muster::scheduler
