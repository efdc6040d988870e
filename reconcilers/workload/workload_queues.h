// What a Workload's queues mean for it: those that are missing, inactive or stopped keep
// it out, and stopPolicy HoldAndDrain drives it out.
#pragma once

#include "reconcilers/step.h"
#include "reconcilers/workload/workload_editor.h"
#include "state/queues_of.h"

namespace muster::state {
struct Inadmissible;
}  // namespace muster::state

namespace muster::reconcilers {

// The queue says that it admits nothing now: it is stopped, going, or not active.
bool is_inactive(const ClusterQueue& queue);

// The queue's status is about an earlier spec: its Workloads are updated after the queue's status, in one write
// each.
bool is_behind(const ClusterQueue& queue);

// What was evicted because a queue was stopped can come again when that runs.
void note_restarted_queues(WorkloadEditor& editor, const state::QueuesOf& queues);

// Of a Workload without reservation: its queues, or a gate, keep it out of the scheduler.
// Then its condition QuotaReserved=False is theirs, else the scheduler's: one writer at any time.
bool is_kept_out(const Workload& workload, const state::QueuesOf& queues);

// Writes into QuotaReserved=False what keeps a Workload without reservation out of the
// scheduler, and resets it when nothing does. The scheduler's own reason stays; its
// result `found` that is not written yet (null: none) replaces the reason of the block,
// with another change of the editor or else after a delay
// (reconcilers/workload/admission.cpp).
void set_blocked_condition(WorkloadEditor& editor, const state::QueuesOf& queues, const state::Inadmissible* found);

// The gate UnadmittedWorkloadsExplicitStatus: a Workload without a block and without a condition gets PendingEvaluation
// at once.
void say_pending(WorkloadEditor& editor);

// Evicts what is admitted from drained queues; reservations that are not admitted yet are
// taken back from any stopped, deleted or missing queue.
Step enforce_stop_policies(WorkloadEditor& editor, const state::QueuesOf& queues);

}  // namespace muster::reconcilers
