#include "scheduler/reservation.h"

#include <algorithm>

#include "api/requests.h"

namespace muster::scheduler {

// Pods that have succeeded give their quota back while the rest of the job runs (KEP-78).
int32_t count_after_reclaim(const Workload& workload, const PodSet& pod_set, bool reclaims) {
  int32_t count = pod_set.count;
  if (!reclaims) return count;
  for (const ReclaimablePod& reclaimable : workload.status.reclaimable_pods) {
    if (reclaimable.name == pod_set.name) count -= reclaimable.count;
  }
  return std::max(count, 0);
}

void for_each_use(const Workload& workload, const Admission& admission, bool reclaims,
                  const std::function<void(const std::string& flavor, const std::string& resource, int64_t)>& visit) {
  for (const PodSetAssignment& assignment : admission.pod_sets) {
    const PodSet* pod_set = workload.find(assignment.name);
    const int32_t left = pod_set == nullptr ? 0 : count_after_reclaim(workload, *pod_set, reclaims);
    // With partial admission fewer pods were admitted than the pod set says (KEP-420).
    const int32_t admitted = assignment.count.value_or(pod_set == nullptr ? 0 : pod_set->count);
    for (const auto& [resource, flavor] : assignment.flavors) {
      const auto amount = assignment.resource_usage.find(resource);
      int64_t value = amount == assignment.resource_usage.end() ? 0 : to_amount(resource, amount->second);
      // Of one pod first, as Kueue does: the remainder of the division is released (KEP-78).
      if (pod_set != nullptr && left < admitted) value = value / admitted * left;
      visit(flavor, resource, value);
    }
  }
}

void read_admission_usage(QuotaIdTable& names, const Workload& workload, const Admission& admission, bool reclaims,
                          Amounts& usage, std::vector<QuotaId>& used) {
  usage.clear();
  used.clear();
  for_each_use(workload, admission, reclaims,
               [&](const std::string& flavor, const std::string& resource, int64_t amount) {
                 const QuotaId quota = names.quota(names.flavor(flavor), names.resource(resource));
                 add_amount(usage, quota, amount);
                 // Also with an amount of zero: the Workload has this flavor, and can be a candidate for its quota.
                 if (std::find(used.begin(), used.end(), quota) == used.end()) used.push_back(quota);
               });
}

// A queue that can preempt has other victims after each change of its holders: `moved` tells the next turn.
void reserve(SchedulerState& state, WorkloadState& workload, QueueState& queue, WorkloadState::Holding holding) {
  WorkloadState::Holding& held = workload.phase.emplace<WorkloadState::Holding>(std::move(holding));
  workload.queue = &queue;
  held.index_in_queue = queue.reserved.size();
  queue.reserved.push_back(&workload);
  queue.moved = queue.preempts();
  state.capacity.take(queue.node, held.claim);
}

WorkloadState::Holding release(SchedulerState& state, WorkloadState& workload) {
  QueueState& queue = *std::exchange(workload.queue, nullptr);
  WorkloadState::Holding held = std::move(workload.holding());
  workload.phase.emplace<std::monostate>();
  state.capacity.give_back(queue.node, held.claim);
  // The last Workload takes the place, so that a release does not depend on the number of holders.
  queue.reserved[held.index_in_queue] = queue.reserved.back();
  // The last one can be the Workload itself, which holds nothing any longer.
  if (queue.reserved.back() != &workload) queue.reserved.back()->holding().index_in_queue = held.index_in_queue;
  queue.reserved.pop_back();
  queue.moved = queue.preempts();
  ++queue.generation;
  return held;
}

}  // namespace muster::scheduler
