#include "scheduler/reservation.h"

#include <algorithm>

#include "api/requests.h"

namespace muster {

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
                 if (std::find(used.begin(), used.end(), quota) == used.end()) used.push_back(quota);
               });
}

void reserve(SchedulerState& state, WorkloadState& workload, QueueState& queue) {
  workload.place = WorkloadState::Place::kReserved;
  workload.queue = &queue;
  workload.index_in_queue = queue.reserved.size();
  queue.reserved.push_back(&workload);
  queue.moved = queue.preempts();
  if (queue.node != kNoNode) state.ledger.add(queue.node, workload.usage);
}

void release(SchedulerState& state, WorkloadState& workload) {
  QueueState& queue = *workload.queue;
  if (queue.node != kNoNode) state.ledger.remove(queue.node, workload.usage);
  queue.reserved[workload.index_in_queue] = queue.reserved.back();
  queue.reserved[workload.index_in_queue]->index_in_queue = workload.index_in_queue;
  queue.reserved.pop_back();
  queue.moved = queue.preempts();
  ++queue.generation;
  workload.place = WorkloadState::Place::kNowhere;
  workload.queue = nullptr;
}

}  // namespace muster
