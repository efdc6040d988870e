#include "api/texts/explain_reasons.h"

#include <cstddef>
#include <iterator>

namespace muster {
namespace {

using ExplainId = ExplainReason;

constexpr ExplainReasonRow kExplainRows[] = {
    {.id = ExplainId::kNotFound,
     .token = "NotFound",
     .first_line = "There is no Job team-a/train. (of one that was deleted within the last day: Job team-a/train was "
                   "deleted 1s ago, and the command for its history)"},
    {.id = ExplainId::kKindNotQueued,
     .token = "KindNotQueued",
     .first_line =
         "muster does not queue RayJobs here: integrations.frameworks lacks ray.io/rayjob. They run without quota. "
         "(also for the kinds of [docs/configuration.md](configuration.md#kinds-that-are-not-queued))"},
    {.id = ExplainId::kQueuedAsJobs, .token = "QueuedAsJobs", .first_line = "", .by_command = true},
    {.id = ExplainId::kQueuedAsPods,
     .token = "QueuedAsPods",
     .first_line = "CronJob team-a/nightly is queued by its Jobs: each that it makes has a Workload. (only from the "
                   "command, which reads the object; the next lines have the Jobs or pods)",
     .by_command = true},
    {.id = ExplainId::kPartOfAnother,
     .token = "PartOfAnother",
     .first_line =
         "Pod team-a/train-x is not queued by itself: it is part of Job team-a/train. (only from the command)",
     .by_command = true},
    {.id = ExplainId::kNotInQueue,
     .token = "NotInQueue",
     .first_line = "Pod team-a/shell is in no queue: muster has nothing to do with it. (only from the command)",
     .by_command = true},
    {.id = ExplainId::kKindNotWatched,
     .token = "KindNotWatched",
     .first_line = "muster does not watch objects of kind CronJob: what they make is queued, if it names a queue. "
                   "(only from muster's own page; the command reads the object)"},
    {.id = ExplainId::kPodGroupIncomplete,
     .token = "PodGroupIncomplete",
     .first_line = "Pod team-a/worker-0 waits for the other pods of its group training. (the next lines have the "
                   "number of pods)"},
    {.id = ExplainId::kNoReplicas,
     .token = "NoReplicas",
     .first_line = "StatefulSet team-a/db has no replicas, and so no Workload."},
    {.id = ExplainId::kNoQueueName, .token = "NoQueueName", .first_line = ""},
    {.id = ExplainId::kIntegrationDisabled, .token = "IntegrationDisabled", .first_line = ""},
    {.id = ExplainId::kManagedByOther, .token = "ManagedByOther", .first_line = ""},
    {.id = ExplainId::kNamespaceNotSelected, .token = "NamespaceNotSelected", .first_line = ""},
    {.id = ExplainId::kOwnedByQueuedJob,
     .token = "OwnedByQueuedJob",
     .first_line = "Job team-a/train is suspended, and muster will not start it. (the next lines name the reason, and "
                   "the command that queues it)"},
    {.id = ExplainId::kUnsupported,
     .token = "Unsupported",
     .first_line = "JobSet team-a/train asks for what muster does not do. (the next lines list each field, and what "
                   "happens to the JobSet)"},
    {.id = ExplainId::kCreationRefused,
     .token = "CreationRefused",
     .first_line = "JobSet team-a/train needs Job train-w-0, which cannot be created: ... exceeded quota: small ... "
                   "(only the leader reports this: its writes are refused)"},
    {.id = ExplainId::kJobsMissing,
     .token = "JobsMissing",
     .first_line = "JobSet team-a/train does not run: it has no Jobs. (the next line names the events that say why; "
                   "also for a JobSet in kube-system)"},
    {.id = ExplainId::kOwnerNotQueued,
     .token = "OwnerNotQueued",
     .first_line = "Job team-a/train-w-0 does not run: it says that it is part of JobSet train, which does not exist "
                   "or is in no queue."},
    {.id = ExplainId::kWorkloadNotCreated, .token = "WorkloadNotCreated", .first_line = ""},
    {.id = ExplainId::kPriorityClassMissing, .token = "PriorityClassMissing", .first_line = ""},
    {.id = ExplainId::kPrebuiltWorkloadMissing, .token = "PrebuiltWorkloadMissing", .first_line = ""},
    {.id = ExplainId::kPrebuiltWorkloadTaken, .token = "PrebuiltWorkloadTaken", .first_line = ""},
    {.id = ExplainId::kPrebuiltWorkloadOutOfSync, .token = "PrebuiltWorkloadOutOfSync", .first_line = ""},
    {.id = ExplainId::kWorkloadNameConflict,
     .token = "WorkloadNameConflict",
     .first_line = "Job team-a/train is not queued yet: WorkloadPriorityClass gold does not exist."},
    {.id = ExplainId::kInvalidPodSets,
     .token = "InvalidPodSets",
     .first_line = "Job team-a/train cannot be queued: ... (the reason why muster cannot read its pod templates)"},
    {.id = ExplainId::kLocalQueueMissing, .token = "LocalQueueMissing", .first_line = ""},
    {.id = ExplainId::kLocalQueueStopped,
     .token = "LocalQueueStopped",
     .first_line = "Job team-a/train waits for LocalQueue lq, which does not exist in team-a."},
    {.id = ExplainId::kClusterQueueMissing, .token = "ClusterQueueMissing", .first_line = ""},
    {.id = ExplainId::kClusterQueueStopped, .token = "ClusterQueueStopped", .first_line = ""},
    {.id = ExplainId::kClusterQueueInactive,
     .token = "ClusterQueueInactive",
     .first_line = "Job team-a/train waits because ClusterQueue cq cannot admit anything (FlavorNotFound)."},
    {.id = ExplainId::kNamespaceNotAdmitted,
     .token = "NamespaceNotAdmitted",
     .first_line = "Job team-a/train waits because ClusterQueue cq does not admit workloads of namespace team-a."},
    {.id = ExplainId::kAdmissionGated,
     .token = "AdmissionGated",
     .first_line = "Job team-a/train waits for its admission gates: example.com/gate."},
    {.id = ExplainId::kPendingEvaluation, .token = "PendingEvaluation", .first_line = ""},
    {.id = ExplainId::kBeingAdmitted,
     .token = "BeingAdmitted",
     .first_line = "Job team-a/train has not been evaluated yet: 3 workloads are ahead of it in ClusterQueue cq."},
    {.id = ExplainId::kAdmissionNotWritten,
     .token = "AdmissionNotWritten",
     .first_line = "Job team-a/train got its turn in ClusterQueue cq 12s ago, and the API server has not accepted its "
                   "admission yet. (only the leader reports this: the API server is slow, or fails)"},
    {.id = ExplainId::kWaitingForQuota,
     .token = "WaitingForQuota",
     .first_line = "Job team-a/train waits for quota in ClusterQueue cq: asks for 6 of cpu, 4 are free in flavor f1."},
    {.id = ExplainId::kExceedsMaxQuota,
     .token = "ExceedsMaxQuota",
     .first_line =
         "Job team-a/train cannot be admitted: it requests 12 of cpu, but ClusterQueue cq can use at most 10."},
    {.id = ExplainId::kNoMatchingFlavor,
     .token = "NoMatchingFlavor",
     .first_line = "Job team-a/train cannot run on any flavor of ClusterQueue cq. (the next lines have the taint, "
                   "label or resource of each flavor)"},
    {.id = ExplainId::kMisconfigured,
     .token = "Misconfigured",
     .first_line = "Job team-a/train is invalid and cannot be admitted, regardless of quota. (the next lines have the "
                   "limit or LimitRange that its requests violate, or say that its pods claim devices)"},
    {.id = ExplainId::kWaitingForPreemptedWorkloads,
     .token = "WaitingForPreemptedWorkloads",
     .first_line = "Job team-a/train waits for 2 preempted Workload(s) to stop."},
    {.id = ExplainId::kWaitingForProtectedWorkloads,
     .token = "WaitingForProtectedWorkloads",
     .first_line = "Job team-a/train waits because the Workloads that it could preempt in ClusterQueue cq or its "
                   "cohort have started recently and are protected. (the next lines have the end of the protection)"},
    {.id = ExplainId::kWaitingForPodsReady,
     .token = "WaitingForPodsReady",
     .first_line =
         "Job team-a/train waits because nothing is admitted while the pods of an admitted Workload are not ready."},
    {.id = ExplainId::kUnsatisfiedAdmissionChecks,
     .token = "UnsatisfiedAdmissionChecks",
     .first_line = "Job team-a/train has its quota and waits for admission checks: budget."},
    {.id = ExplainId::kBackoff,
     .token = "Backoff",
     .first_line = "Job team-a/train waits before its next attempt: attempt 3 begins at 2026-01-01T12:00:12Z, in 12s."},
    {.id = ExplainId::kStopping, .token = "Stopping", .first_line = ""},
    {.id = ExplainId::kPreempted,
     .token = "Preempted",
     .first_line = "Job team-a/train was evicted (PodsReadyTimeout), and its pods are still stopping."},
    {.id = ExplainId::kDeactivated, .token = "Deactivated", .first_line = ""},
    {.id = ExplainId::kDeactivatedDueTo,
     .token = "DeactivatedDueTo",
     .first_line = "Job team-a/train was deactivated: its pods did not become ready in time in any attempt. (the next "
                   "lines have the command that reactivates it)",
     .open = true},
    {.id = ExplainId::kStarting, .token = "Starting", .first_line = ""},
    {.id = ExplainId::kPodsNotReady,
     .token = "PodsNotReady",
     .first_line = "Job team-a/train is admitted, and 1 of its 2 pods are ready. (the next lines have the deadline, "
                   "and [why the others are late](#why-pods-are-late))"},
    {.id = ExplainId::kStartBarrier,
     .token = "StartBarrier",
     .first_line = "Job team-a/train waits at its start barrier: 7 of 10 pods have started. (the next lines list the "
                   "missing pods)"},
    {.id = ExplainId::kAdmitted,
     .token = "Admitted",
     .first_line = "Workload team-a/w is admitted; its owner is not a job that muster runs."},
    {.id = ExplainId::kRunning, .token = "Running", .first_line = ""},
    {.id = ExplainId::kFinished, .token = "Finished", .first_line = ""},
    {.id = ExplainId::kBeingDeleted,
     .token = "BeingDeleted",
     .first_line = "Job team-a/train is running: 2/2 pods ready, 2 active."},
    {.id = ExplainId::kUnknown,
     .token = "Unknown",
     .first_line = "Only in answers without muster, see [below](#without-muster)."},
};

constexpr bool explain_rows_are_in_order() {
  for (size_t i = 0; i < std::size(kExplainRows); ++i) {
    if (static_cast<size_t>(kExplainRows[i].id) != i) return false;
  }
  return std::size(kExplainRows) == static_cast<size_t>(ExplainId::kUnknown) + 1;
}
static_assert(explain_rows_are_in_order(), "each enumerator has one row, in the same order");

}  // namespace

std::span<const ExplainReasonRow> explain_reason_rows() {
  return kExplainRows;
}

std::string_view to_text(ExplainReason reason) {
  return kExplainRows[static_cast<size_t>(reason)].token;
}

}  // namespace muster
