// The gauges of queues, Cohorts and Workloads, read from the state as it is.
// Source: Kueue, pkg/metrics and pkg/cache (what each of them shows, and when).
#pragma once

#include <vector>

#include "api/config/queue_settings.h"
#include "api/measurement.h"
#include "state/cluster_state.h"
#include "state/scheduler_driver.h"

namespace muster::state {

// One pass over the queues, with their kept counts, and one over the Workloads that wait
// (scheduler/views/queue_readings.h): docs/metrics.md says what it costs.
std::vector<GaugeReading> queue_gauges(const ClusterState& state, const SchedulerDriver& decisions,
                                       const QueueSettings& settings);

}  // namespace muster::state
