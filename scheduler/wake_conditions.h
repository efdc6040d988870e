// The capacity that must be released before refused Workloads are evaluated again, and an index of the waiting
// Workloads: a release finds the Workload that can fit, independent of the number of Workloads that need
// more.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/capacity/claim.h"
#include "scheduler/outcome.h"
#include "scheduler/shape.h"

namespace muster::scheduler {

struct SchedulerState;

// Holds back a refused Workload as long as less than `needed` of a quota or of another capacity is within reach.
struct WakeCondition {
  CapacityKey key;
  int64_t needed;

  bool operator==(const WakeCondition&) const = default;
};

// `why`: the rejections of the Workload's first pod set in each flavor. Its shape stays refused while no wake
// condition is met; without conditions, until queues or flavors change. nullopt: any release can help. If
// evictions could help, the wake conditions are valid only while the reservations of its ClusterQueue do not
// change.
std::optional<std::vector<WakeCondition>> wake_conditions_of(const SchedulerState& state, const WorkloadState& workload,
                                                             const std::vector<FlavorRejection>& why);

// The first Workload of each refused shape, by its shape's wake conditions. Every operation is
// logarithmic in the number of shapes. Holds no ownership.
class WakeIndex {
 public:
  WakeIndex();
  ~WakeIndex();

  void add(const WakeCondition& wake_condition, const Shape& shape, WorkloadState& first);
  void remove(const WakeCondition& wake_condition, const Shape& shape);

  // The first Workload in the order of the queue with a wake condition that is met now; nullptr: no such Workload.
  // `reach`: how much of a capacity is within reach.
  using Reach = std::function<int64_t(CapacityKey)>;
  WorkloadState* first_within(const Reach& reach) const;

 private:
  struct Row;
  std::map<CapacityKey, std::unique_ptr<Row>> rows_;
};

}  // namespace muster::scheduler
