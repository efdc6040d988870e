// The ClusterQueues, LocalQueues, Cohorts and flavors of the account. A queue is there as soon as an object names it,
// so that events can come in any order, and is dropped when neither an object nor a Workload or LocalQueue names it.
// One thread.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "scheduler/state.h"
#include "scheduler/wake_set.h"

namespace muster::scheduler {

class QueueTable {
 public:
  QueueTable(SchedulerState& state, WakeSet& wake) : state_(state), wake_(wake) {}

  // Without an object if no other call has named it yet.
  QueueState& cluster_queue(const std::string& name);
  LocalQueueState& local_queue(const std::string& key);  // "namespace/name"
  // After the last Workload or LocalQueue has left it: can destroy it.
  void drop_if_unused(QueueState& queue);
  void drop_if_unused(LocalQueueState& local);

  // A new or changed object. False: nothing that matters to the scheduler has changed.
  bool set_object(QueueState& queue, const ClusterQueuePtr& object);
  bool set_cohort(const CohortPtr& cohort);
  bool set_flavor(const ResourceFlavorPtr& flavor);
  // The ClusterQueue was deleted; its pending Workloads have left. Can destroy it.
  void unset_object(QueueState& queue);
  void unset_cohort(const std::string& name);
  void unset_flavor(const std::string& name);
  // The ClusterQueue of the LocalQueue; null: none. Its pending Workloads have left.
  void point(LocalQueueState& local, QueueState* queue);

 private:
  std::vector<QuotaLimits> limits_of(const std::vector<ResourceGroup>& groups);
  void read_groups(QueueState& queue);
  FlavorState& flavor(const std::string& name);

  SchedulerState& state_;
  WakeSet& wake_;
  std::unordered_map<std::string, CohortPtr> cohorts_;
};

}  // namespace muster::scheduler
