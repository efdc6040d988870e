// What the scheduler knows of one ClusterQueue and one LocalQueue. Owned by SchedulerState, used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_queue.h"
#include "base/clock.h"
#include "scheduler/order/pending_queue.h"
#include "scheduler/quota/ledger.h"
#include "scheduler/quota/names.h"

namespace muster::scheduler {

struct LocalQueueState;
struct WorkloadState;

struct QueueGroup {
  std::vector<ResourceId> resources;
  std::vector<FlavorId> flavors;  // in the order in which they are tried

  bool covers(ResourceId resource) const;
};

struct QueueState {
  std::string name;
  ClusterQueuePtr object;  // null: only named by others
  NodeId node = kNoNode;   // kNoNode while `object` is null
  std::vector<QueueGroup> groups;
  bool covers_pods = false;
  bool active = false;
  PendingQueue pending;
  std::vector<WorkloadState*> reserved;
  std::vector<LocalQueueState*> local_queues;
  // Counts events that can have released quota: flavor scans that stopped before one start again.
  uint64_t generation = 1;
  // A reservation or release here, which can change the effect of evictions.
  bool moved = false;
  // See await_protection_end().
  std::optional<MonotonicTime> protection_end{};

  const QueueGroup* group_of(ResourceId resource) const;
  bool preempts() const;
  bool strict() const { return object->queueing_strategy == QueueingStrategy::kStrictFifo; }
};

struct LocalQueueState {
  std::string key;       // "namespace/name"
  LocalQueuePtr object;  // null: only named by Workloads
  QueueState* queue = nullptr;
  std::vector<WorkloadState*> workloads;  // all unfinished ones that name it
};

// A fixed order of queues where the order has no meaning, so that every run is equal.
struct ByName {
  bool operator()(const QueueState* a, const QueueState* b) const { return a->name < b->name; }
  bool operator()(const LocalQueueState* a, const LocalQueueState* b) const { return a->key < b->key; }
};

}  // namespace muster::scheduler
