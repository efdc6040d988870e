#include "scheduler/state.h"

#include <algorithm>

#include <tuple>
#include "scheduler/order/workload_order.h"

namespace muster::scheduler {

// Whether flavors are left that were not tried in this round (KEP-582). Until then the Workload competes again at once,
// and is not parked.
bool ScanProgress::pending() const {
  return std::any_of(positions.begin(), positions.end(),
                     [](const Position& position) { return position.flavor != kFinished; });
}

// A finished scan starts again at the first flavor, since kFinished is -1.
int ScanProgress::next_flavor(uint32_t pod_set, ResourceId resource) const {
  for (const Position& position : positions) {
    if (position.pod_set == pod_set && position.resource == resource) return position.flavor + 1;
  }
  return 0;
}

bool ScanProgress::operator==(const ScanProgress& other) const {
  return std::equal(positions.begin(), positions.end(), other.positions.begin(), other.positions.end(),
                    [](const Position& a, const Position& b) {
                      return a.pod_set == b.pod_set && a.resource == b.resource && a.flavor == b.flavor;
                    });
}

bool WorkloadState::has_failed(FlavorId flavor) const {
  return std::binary_search(failed.begin(), failed.end(), flavor);
}

bool QueueGroup::covers(ResourceId resource) const {
  return std::find(resources.begin(), resources.end(), resource) != resources.end();
}

const QueueGroup* QueueState::group_of(ResourceId resource) const {
  for (const QueueGroup& group : groups) {
    if (group.covers(resource)) return &group;
  }
  return nullptr;
}

bool QueueState::preempts() const {
  return object != nullptr && (object->preemption.within_cluster_queue != PreemptionPolicy::kNever ||
                               object->preemption.reclaim_within_cohort != PreemptionPolicy::kNever);
}

WorkloadState* SchedulerState::find_workload(const std::string& ns, const std::string& name) const {
  const auto it = workloads.find(muster::path_of(ns, name));
  return it == workloads.end() ? nullptr : it->second.get();
}

SimulatedRemoval::~SimulatedRemoval() {
  for (WorkloadState* workload : taken_) workload->holding().taken_away = false;
}

// Each Workload once: a search can come to the same victim twice.
void SimulatedRemoval::take(WorkloadState& workload) {
  WorkloadState::Holding& held = workload.holding();
  if (std::exchange(held.taken_away, true)) return;
  taken_.push_back(&workload);
  state_.capacity.give_back(workload.queue->node, held.claim);
}

bool queued_before(const WorkloadState& a, const WorkloadState& b) {
  return compare(queue_terms(a), queue_terms(b)).first;
}

}  // namespace muster::scheduler
