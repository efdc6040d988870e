// What is measured of Workloads and queues: which figures a change of a Workload's status
// stands for, and what their labels can say. Pure.
//
// When something counts is Kueue's (pkg/metrics, and its callers). Times are those between
// the stamps of conditions, so whole seconds, and the same after a restart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/config/queue_settings.h"
#include "api/measurement.h"
#include "api/workload.h"
#include "state/cluster_state.h"

namespace muster::state {

// What has happened to the Workload when its status has become `after`.
std::vector<Measurement> measurements_of(const Workload& workload, const WorkloadStatus& after);
// `preemptor` had a Workload evicted.
Measurement preemption_by(const Workload& preemptor, std::string_view reason, const ClusterState& state);

// The Workload of a job of this kind is created now. Nothing with a later generation of the job than its first one: it
// was not made for what the user has created.
std::vector<Measurement> creation_of_workload(std::string_view kind, const ObjectMeta& job, const RuleSettings& rules,
                                              Timestamp now);
// A pod of the Workload loses the gate now.
Measurement removal_of_gate(std::string_view gate, const Workload& workload, Timestamp now);

// Fills in what the cluster knows, and takes out what it does not: series are kept of
// queues, Cohorts and priority classes that exist, so that a user who can only create Workloads cannot grow the
// exposition.
void complete(Measurement& measurement, const ClusterState& state, const QueueSettings& settings);
// Whether there are metrics of it.
bool is_measured(const LocalQueue& queue, const QueueSettings& settings);

// An object has changed or gone, `state` shows it as it is now: adds the ends of series.
void note_ended_series(const TypedObject& before, const ClusterState& state, const QueueSettings& settings,
                       std::vector<Measurement>& measurements);

}  // namespace muster::state
