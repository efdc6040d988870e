// What must become free before Workloads that were refused are worth another look, and an
// index of those that wait for it: a release then finds the one Workload that may go ahead,
// however many others wait for more than was released.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/outcome.h"
#include "scheduler/quota/names.h"
#include "scheduler/shape.h"

namespace muster {

struct SchedulerState;

// Holds back a refused Workload as long as less than `needed` of a quota is within reach.
struct WakeCondition {
  QuotaId quota;
  int64_t needed;

  bool operator==(const WakeCondition&) const = default;
};

// `why`: what stood in the way of the Workload's first pod set in each flavor. Its shape stays
// refused while no wake condition is met; with none, until queues or flavors change. nullopt: any
// release may help. Where evictions could help, the wake conditions hold only as long as its own
// ClusterQueue keeps what it has reserved, and reserves nothing more.
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

  // The first in the order of the queue of those that have a wake condition which is met
  // now; nullptr: there is none. `reach`: how much of a quota is within reach.
  using Reach = std::function<int64_t(QuotaId)>;
  WorkloadState* first_within(const Reach& reach) const;

 private:
  struct Row;
  std::map<QuotaId, std::unique_ptr<Row>> rows_;
};

}  // namespace muster
