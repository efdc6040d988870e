// Flavor fallback (KEP-2560): when a Workload leaves a flavor on which it does not start, and what
// follows when all flavors have failed.
//
// A flavor fails when its timeout is over, or when a check that applies to it is rejected, as the
// rules of the ClusterQueue say. The Workload is evicted and requeued at once; the scheduler does
// not try a failed flavor again. A flavor without an alternative in its resource group is not
// marked: it gets its whole time again while another group changes its flavor. When no group has
// an alternative, the flavors are exhausted, and failurePolicy decides.
#pragma once

#include "api/config/queue_settings.h"
#include "reconcilers/reconciler.h"
#include "reconcilers/workload/workload_editor.h"
#include "reconcilers/workload/workload_queues.h"

namespace muster::reconcilers {

// Of a Workload with quota: evicts it from flavors that have failed, or deactivates it.
// Otherwise the plan wakes when the next timeout is over.
Step enforce_fallback_rules(WorkloadEditor& editor, const state::QueuesOf& queues, const ReconcileContext& context,
                            Plan& plan);

// Whether the timeouts of its flavors evict or deactivate the Workload at this time, if nothing changes before: with
// several resource groups a timeout can pass without effect. `at` is the end of a flavor (flavor_clock.h).
bool falls_back_at(const Workload& workload, const state::ClusterState& state, const state::SchedulerDriver& decisions,
                   TimePoint at);

// For a Workload without quota: its history is updated to the current rules and flavors of its queue. With
// RetryAllFlavors a new round begins when the remaining flavors had no free quota during the longest timeout. kDone:
// the editor has changed.
Step review_failed_flavors(WorkloadEditor& editor, const state::QueuesOf& queues, const ReconcileContext& context,
                           Plan& plan);

// When that round begins, of a Workload without quota that nothing else keeps waiting; nullopt: there
// is none to come. `queue`: its ClusterQueue, or nullptr.
std::optional<TimePoint> next_round_at(const WorkloadStatus& status, const ClusterQueue* queue, TimePoint now);

// Of a Workload that is active: its history ends if it was deactivated before.
void forget_flavors_when_reactivated(WorkloadEditor& editor);

// The backoff of rounds, also where waitForPodsReady is off.
RequeuingStrategy requeuing_of(const QueueSettings& settings);

}  // namespace muster::reconcilers
