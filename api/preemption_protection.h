// Protection from early preemption, as annotations of ClusterQueues and WorkloadPriorityClasses
// ask for it: how long after its admission a Workload is no victim. Values only; what follows
// from them is decided in scheduler/preemption/protection.h.
// muster's own; Kueue issues 9876, 8522 and 9596 ask for it. docs/preemption-protection.md has the rules.
#pragma once

#include <optional>

#include "api/meta/object_meta.h"
#include "base/clock.h"

namespace muster {

struct PreemptionProtection {
  std::optional<Duration> in_queue{};  // from Workloads of the same ClusterQueue
  std::optional<Duration> reclaim{};   // from Workloads of other ClusterQueues of the Cohort
  // Of a ClusterQueue only: the longest protection that its own Workloads respect as preemptors.
  std::optional<Duration> limit{};

  bool operator==(const PreemptionProtection&) const = default;
};
// No protection lasts longer: a preemptor waits for a finite time with any configuration.
inline constexpr Duration kLongestProtection = std::chrono::hours(24 * 7);

// What cannot be read counts as not set; the webhook has refused it before.
PreemptionProtection read_preemption_protection(const ObjectMeta& meta);

}  // namespace muster
