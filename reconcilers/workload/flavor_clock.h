// How long a Workload has tried its flavors (KEP-2560), from its status: pure arithmetic.
//
// The clock of a flavor runs from the reservation of quota on it until the pods are ready for the first time or the
// Workload is evicted: through admission checks and the start of pods, not in the queue. An eviction with any cause
// stops the clock; the next assignment of the flavor has the rest of the timeout. For pods that are lost later,
// recoveryTimeout applies.
#pragma once

#include <string>
#include <vector>

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "base/clock.h"

namespace muster::reconcilers {

bool flavor_clocks_run(const WorkloadStatus& status);

// A history of another ClusterQueue ends, and so do entries of flavors that the queue has no more.
void keep_flavors_of(const ClusterQueue& queue, FlavorHistory& history);
// Quota has been reserved: the clocks of its flavors start.
void start_flavor_clocks(WorkloadStatus& status, const ClusterQueue& queue, Timestamp stamp);
// The same for flavors without an entry, where quota was reserved before the queue had rules.
void start_missing_flavor_clocks(WorkloadStatus& status, const ClusterQueue& queue, Timestamp stamp);
// To be called before the status says that the Workload is evicted or has no quota. A begun
// second counts as a whole one.
void stop_flavor_clocks(WorkloadStatus& status, TimePoint now);

// Of the timeout, while the clock runs; negative or zero: it is over.
Duration time_left(const FlavorAttempt& attempt, Duration timeout, TimePoint now);

// When a flavor that is assigned fails by time, if the pods are not all ready before.
struct FlavorEnd {
  TimePoint end;
  Duration time;  // that the flavor has in this assignment
  std::string flavor;
};
// By the rules of the ClusterQueue where the quota is, the earliest first; empty: no clock runs, or no flavor has a
// timeout. Stamps of another age are cut, so that no sum overflows.
std::vector<FlavorEnd> flavor_ends(const WorkloadStatus& status, const FallbackStrategy& strategy);

// Whether PodsReady is set because of the flavors: the queue has rules, or had them when the Workload got its quota.
// nullptr: the Workload has no queue.
bool tracks_flavors(const Workload& workload, const ClusterQueue* queue);

}  // namespace muster::reconcilers
