#include "api/texts/event_reasons.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"

namespace muster {
namespace {

using EventId = EventReason;

constexpr EventRow kEventRows[] = {
    // --- A Workload and its quota ---
    {EventId::kQuotaReserved, kQuotaReservedReason, kNormalEvent, "Workload", kFromKueue,
     "Quota is reserved; the message has the ClusterQueue and the time in the queue."},
    {EventId::kAdmitted, kAdmittedReason, kNormalEvent, "Workload", kFromKueue,
     "All admission checks are ready, and the job can start."},
    {EventId::kNotReserved, "Pending", kWarningEvent, "Workload", kFromKueue,
     "There is no quota, and no other reason of this table is exact enough."},
    {EventId::kWaitingForQuota, kWaitingForQuotaReason, kWarningEvent, "Workload", kFromKueue,
     "The requests are larger than the free quota; the message has the numbers of each flavor."},
    {EventId::kExceedsMaxQuota, kExceedsMaxQuotaReason, kWarningEvent, "Workload", kFromKueue,
     "The requests are larger than all quota that the ClusterQueue can ever use."},
    {EventId::kNoMatchingFlavor, kNoMatchingFlavorReason, kWarningEvent, "Workload", kFromKueue,
     "The taints, labels or resources of no flavor suit the pods."},
    {EventId::kWaitingForPreemptedWorkloads, kWaitingForPreemptedWorkloadsReason, kWarningEvent, "Workload", kFromKueue,
     "Workloads were evicted for this Workload, and their pods have not ended yet."},
    {EventId::kWaitingForProtectedWorkloads, kWaitingForProtectedWorkloadsReason, kWarningEvent, "Workload",
     kFromMuster, "The Workloads that could be preempted are protected, because they have started recently."},
    {EventId::kWaitingForPodsReady, kWaitingForPodsReadyReason, kWarningEvent, "Workload", kFromKueue,
     "waitForPodsReady.blockAdmission is on, and the pods of an admitted Workload are not ready."},
    {EventId::kMisconfigured, kMisconfiguredReason, kWarningEvent, "Workload", kFromKueue,
     "The Workload is invalid; the message has the limit or the LimitRange that it violates."},
    {EventId::kPendingEvaluation, kPendingEvaluationReason, kWarningEvent, "Workload", kFromKueue,
     "The scheduler must evaluate the Workload again."},
    {EventId::kAdmissionGated, kAdmissionGatedReason, kNormalEvent, "Workload", kFromKueue,
     "The Workload has admission gates, and is not evaluated before they are removed."},
    {EventId::kAdmissionGateCleared, "AdmissionGateCleared", kNormalEvent, "Workload", kFromKueue,
     "The last admission gate was removed."},
    {EventId::kAdmissionCheckRejected, "AdmissionCheckRejected", kWarningEvent, "Workload", kFromKueue,
     "An admission check rejected the Workload, which is deactivated."},
    {EventId::kEvictedDueTo, "EvictedDueTo", kNormalEvent, "Workload", kFromKueue,
     "The Workload is evicted. The end is the reason of the condition Evicted: Preempted, PodsReadyTimeout, "
     "AdmissionCheck, ClusterQueueStopped, LocalQueueStopped, FlavorFallback, QueueChanged, Deactivated, or "
     "DeactivatedDueTo with AdmissionCheck, RequeuingLimitExceeded, MaximumExecutionTimeExceeded or FlavorsExhausted.",
     true},
    {EventId::kPreempted, kPreemptedReason, kNormalEvent, "Workload", kFromKueue,
     "The Workload is evicted for another Workload."},
    {EventId::kPreemptedWorkload, "PreemptedWorkload", kNormalEvent, "Workload", kFromKueue,
     "Another Workload is evicted for this Workload; the message names it if it is in the same namespace."},
    {EventId::kMaximumExecutionTimeExceeded, kMaximumExecutionTimeExceededReason, kWarningEvent, "Workload", kFromKueue,
     "The Workload has run for spec.maximumExecutionTimeSeconds, and is deactivated."},
    {EventId::kFlavorsExhausted, kFlavorsExhaustedReason, kWarningEvent, "Workload", kFromMuster,
     "All flavors have failed for the Workload; the message has the next round, or says that the Workload is "
     "deactivated."},
    {EventId::kFlavorsRetried, "FlavorsRetried", kNormalEvent, "Workload", kFromMuster,
     "All flavors are tried again, because no flavor that has not failed had room."},
    {EventId::kOwnerReferencesAdded, "OwnerReferencesAdded", kNormalEvent, "Workload", kFromKueue,
     "Pods of the group were added to the owners of the Workload."},
    {EventId::kDeleted, "Deleted", kNormalEvent, "Workload, job", kFromKueue,
     "The retention of the finished Workload, or of the job of a deactivated Workload, is over, and the object is "
     "deleted."},
    // --- A job and its Workload ---
    {EventId::kWaits, "Pending", kNormalEvent, "job", kFromMuster,
     "The job waits for quota; the message has the reason of its Workload. Once for each change of the reason."},
    {EventId::kCreatedWorkload, "CreatedWorkload", kNormalEvent, "job", kFromKueue,
     "The Workload of the job is created."},
    {EventId::kUpdatedWorkload, "UpdatedWorkload", kNormalEvent, "job", kFromKueue,
     "The Workload follows a change of the job: its requests, priority class or admission gates."},
    {EventId::kDeletedWorkload, "DeletedWorkload", kNormalEvent, "job", kFromKueue,
     "A Workload that does not suit the job, or whose job left its queue, is deleted."},
    {EventId::kFinishedWorkload, "FinishedWorkload", kNormalEvent, "job", kFromKueue,
     "The job has ended, and its Workload releases its quota."},
    {EventId::kStarted, "Started", kNormalEvent, "job", kFromKueue,
     "The job, or a pod of a group, is started with the quota of the ClusterQueue in the message."},
    {EventId::kStopped, "Stopped", kNormalEvent, "job", kFromKueue,
     "The job, or a pod of a group, is stopped; the message has the reason."},
    {EventId::kSuspended, "Suspended", kNormalEvent, "job", kFromKueue,
     "The job must not run now, for example because it is part of a queued job, and is suspended."},
    {EventId::kSuspendedForExcess, "Suspended", kWarningEvent, "job", kFromMuster,
     "The job is part of a queued job and asks for more than its quota, and is suspended."},
    {EventId::kInvalidPodSets, "InvalidPodSets", kWarningEvent, "job", kFromMuster,
     "muster cannot read the pod templates, so the job cannot be queued and is suspended."},
    {EventId::kUpdatedAdmissionCheck, "UpdatedAdmissionCheck", kNormalEvent, "job", kFromKueue,
     "A pending admission check has a message."},
    {EventId::kJobNestingTooDeep, "JobNestingTooDeep", kWarningEvent, "job", kFromKueue,
     "The job has more than 10 owners above it, and muster does not find its queue."},
    {EventId::kWorkloadPriorityClassNotFound, "WorkloadPriorityClassNotFound", kWarningEvent, "job", kFromKueue,
     "The label of the job names a WorkloadPriorityClass that does not exist."},
    {EventId::kWorkloadNameConflict, "WorkloadNameConflict", kWarningEvent, "job", kFromKueue,
     "A Workload of another owner has the name that the Workload of this job needs."},
    {EventId::kWorkloadCreationFailed, "WorkloadCreationFailed", kWarningEvent, "job", kFromMuster,
     "The API server refuses the Workload; the message has its words."},
    {EventId::kWorkloadTakenBack, "WorkloadTakenBack", kWarningEvent, "job", kFromMuster,
     "The Workload of this job had another controller, and belongs to the job again."},
    {EventId::kPrebuiltWorkloadTaken, "PrebuiltWorkloadTaken", kWarningEvent, "job", kFromMuster,
     "The job names a prebuilt Workload of another owner."},
    {EventId::kPrebuiltWorkloadOutOfSync, "PrebuiltWorkloadOutOfSync", kWarningEvent, "job", kFromMuster,
     "The prebuilt Workload does not suit the job and ends; the message has the difference."},
    {EventId::kPodsNotReady, "PodsNotReady", kWarningEvent, "job", kFromMuster,
     "The pods of the admitted job are late; the message has the reason of the pods. Only with podReasons."},
    {EventId::kPodsOverstay, "PodsOverstay", kWarningEvent, "job", kFromMuster,
     "Deleted pods have not ended in time, and the quota of the job is released."},
    {EventId::kPodsLeft, "PodsLeft", kWarningEvent, "job", kFromMuster,
     "The job has ended, and pods of it still run and keep its quota."},
    // --- Pods, groups of pods, sets ---
    {EventId::kErrWorkloadCompose, "ErrWorkloadCompose", kWarningEvent, "Pod", kFromKueue,
     "No Workload can be made of the pods of the group; the message has the reason."},
    {EventId::kExcessPodDeleted, "ExcessPodDeleted", kNormalEvent, "Pod", kFromKueue,
     "The group has more pods than its total count, and this pod is deleted."},
    {EventId::kExcessPodsWait, "ExcessPodsWait", kWarningEvent, "Pod", kFromMuster,
     "The group has more pods than its total count. They wait, because their controller would create them again."},
    {EventId::kFailedToStart, kFailedToStartReason, kWarningEvent, "Pod", kFromMuster,
     "The pod cannot be started in its Workload; the message has the reason."},
    {EventId::kOutdatedPodDeleted, "OutdatedPodDeleted", kNormalEvent, "Pod", kFromMuster,
     "The pod waits, and an update of its StatefulSet replaces it."},
    {EventId::kReplicasChanged, "ReplicasChanged", kWarningEvent, "StatefulSet, LeaderWorkerSet", kFromMuster,
     "The number of replicas differs from that of the Workload, whose quota is in use."},
    {EventId::kQueueChanged, kQueueChangedReason, kWarningEvent, "StatefulSet, LeaderWorkerSet", kFromMuster,
     "The set names another queue, and keeps its quota because a pod is ready."},
    {EventId::kTooManyGroups, "TooManyGroups", kWarningEvent, "LeaderWorkerSet", kFromMuster,
     "The set has more groups than muster queues; the pods of the others wait."},
    // --- JobSets ---
    {EventId::kAllJobsCompleted, "AllJobsCompleted", kNormalEvent, "JobSet", kFromJobSet, "The JobSet has succeeded."},
    {EventId::kFailedJobs, "FailedJobs", kWarningEvent, "JobSet", kFromJobSet,
     "A Job has failed, and the JobSet has no failurePolicy: the JobSet fails."},
    {EventId::kFailJobSetAction, "FailJobSetFailurePolicyAction", kWarningEvent, "JobSet", kFromJobSet,
     "A rule of failurePolicy fails the JobSet."},
    {EventId::kReachedMaxRestarts, "ReachedMaxRestarts", kWarningEvent, "JobSet", kFromJobSet,
     "The JobSet has used failurePolicy.maxRestarts and fails."},
    {EventId::kDeadlineExceeded, "DeadlineExceeded", kWarningEvent, "JobSet", kFromJobSet,
     "The JobSet has run for spec.activeDeadlineSeconds and fails."},
    {EventId::kRestartJobSetAction, "RestartJobSetFailurePolicyAction", kWarningEvent, "JobSet", kFromJobSet,
     "A rule of failurePolicy, or the default, restarts the JobSet."},
    {EventId::kRestartJobSetAndIgnoreMaxRestartsAction, "RestartJobSetAndIgnoreMaxRestartsFailurePolicyAction",
     kWarningEvent, "JobSet", kFromJobSet, "A rule restarts the JobSet, and the restart does not count."},
    {EventId::kRestartJobAction, "RestartJobFailurePolicyAction", kWarningEvent, "JobSet", kFromJobSet,
     "A rule restarts one Job; the others continue."},
    {EventId::kRestartJobAndIgnoreMaxRestartsAction, "RestartJobAndIgnoreMaxRestartsFailurePolicyAction", kWarningEvent,
     "JobSet", kFromJobSet, "A rule restarts one Job, and the restart does not count."},
    {EventId::kDefaultFailurePolicy, "DefaultFailurePolicy", kWarningEvent, "JobSet", kFromJobSet,
     "A restart begins, because no rule of failurePolicy matches (condition RestartingJobSet)."},
    {EventId::kFailurePolicyRule, "FailurePolicy_", kWarningEvent, "JobSet", kFromJobSet,
     "A restart begins. The end is the name of the rule of failurePolicy (condition RestartingJobSet).", true},
    {EventId::kJobsReady, "JobsReady", kNormalEvent, "JobSet", kFromJobSet, "A restart is over: all Jobs are ready."},
    {EventId::kJobSetCompleted, "JobSetCompleted", kNormalEvent, "JobSet", kFromJobSet,
     "A restart is over: the JobSet has succeeded."},
    {EventId::kJobSetFailed, "JobSetFailed", kNormalEvent, "JobSet", kFromJobSet,
     "A restart is over: the JobSet has failed."},
    {EventId::kJobSetSuspended, "JobSetSuspended", kNormalEvent, "JobSet", kFromJobSet,
     "A restart is over: the JobSet is suspended."},
    {EventId::kSuspendedJobs, "SuspendedJobs", kNormalEvent, "JobSet", kFromJobSet, "The JobSet is suspended."},
    {EventId::kResumeJobs, "ResumeJobs", kNormalEvent, "JobSet", kFromJobSet, "The JobSet is resumed."},
    {EventId::kInOrderStartupPolicyInProgress, "InOrderStartupPolicyInProgress", kNormalEvent, "JobSet", kFromJobSet,
     "The replicated Jobs start one after another."},
    {EventId::kInOrderStartupPolicyCompleted, "InOrderStartupPolicyCompleted", kNormalEvent, "JobSet", kFromJobSet,
     "All replicated Jobs have started in order."},
    {EventId::kJobCreationFailed, "JobCreationFailed", kWarningEvent, "JobSet", kFromJobSet,
     "A Job of the JobSet cannot be created; the message has the words of the API server, or the Job that has the "
     "name."},
    {EventId::kHeadlessServiceCreationFailed, "HeadlessServiceCreationFailed", kWarningEvent, "JobSet", kFromJobSet,
     "The Service of the JobSet cannot be created."},
    {EventId::kPVCCreationFailed, "PVCCreationFailed", kWarningEvent, "JobSet", kFromJobSet,
     "A volume claim cannot be created, or exists and belongs to another owner."},
    {EventId::kJobReplaced, "JobReplaced", kWarningEvent, "JobSet", kFromMuster,
     "A Job asks for more than its replicated Job has in the quota: it is deleted and created again."},
    {EventId::kInPlaceRestartUnavailable, "InPlaceRestartUnavailable", kWarningEvent, "JobSet", kFromMuster,
     "Another controller created a Job, so its pods cannot restart in place."},
    // --- Gangs ---
    {EventId::kGroupWaiting, "GroupWaiting", kNormalEvent, "Job, JobSet", kFromMuster,
     "The first pod of the gang has started; the message has the deadline."},
    {EventId::kGroupStarted, "GroupStarted", kNormalEvent, "Job, JobSet", kFromMuster,
     "All pods of the gang have started."},
    {EventId::kGroupSchedulingTimeout, "GroupSchedulingTimeout", kWarningEvent, "Job, JobSet", kFromMuster,
     "Not all pods of the gang started in time; the message names the missing pods."},
    {EventId::kConfigMapNameConflict, "ConfigMapNameConflict", kWarningEvent, "Job, JobSet", kFromMuster,
     "A ConfigMap that muster did not create has the name that the gang needs."},
    {EventId::kConfigMapCreationFailed, "ConfigMapCreationFailed", kWarningEvent, "Job, JobSet", kFromMuster,
     "The ConfigMap of the gang cannot be created; the message has the words of the API server."},
    // --- muster itself ---
    {EventId::kUnsupported, "Unsupported", kWarningEvent, "any", kFromMuster,
     "The object asks for what muster does not do; the message says what happens to it."},
    {EventId::kInternalError, "InternalError", kWarningEvent, "any", kFromMuster,
     "muster failed for this object, and leaves it alone for some time. Report it."},
    {EventId::kGroupSchedulingFieldAdded, "GroupSchedulingFieldAdded", kNormalEvent, "CustomResourceDefinition",
     kFromMuster, "muster added spec.groupSchedulingConfig to the definition of JobSets."},
    {EventId::kGroupSchedulingFieldLost, "GroupSchedulingFieldLost", kWarningEvent, "CustomResourceDefinition",
     kFromMuster, "Another version of the definition removed the field, and muster restored it."},
    {EventId::kForeignJobSetDefinition, "ForeignJobSetDefinition", kWarningEvent, "CustomResourceDefinition",
     kFromMuster, "The definition of JobSets is not muster's any more, so muster leaves JobSets alone."},
};

constexpr bool is_in_order() {
  for (size_t i = 0; i < std::size(kEventRows); ++i) {
    if (static_cast<size_t>(kEventRows[i].id) != i) return false;
  }
  return std::size(kEventRows) == static_cast<size_t>(EventId::kForeignJobSetDefinition) + 1;
}
static_assert(is_in_order(), "each enumerator has one row, in the same order");

}  // namespace

std::span<const EventRow> event_rows() {
  return kEventRows;
}

const EventRow& row_of(EventReason reason) {
  return kEventRows[static_cast<size_t>(reason)];
}

std::string_view to_text(EventReason reason) {
  return row_of(reason).reason;
}

std::optional<EventReason> find_event_reason(std::string_view type, std::string_view reason) {
  const auto* row = std::find_if(std::begin(kEventRows), std::end(kEventRows), [&](const EventRow& each) {
    return !each.open && each.type == type && each.reason == reason;
  });
  return row == std::end(kEventRows) ? std::nullopt : std::optional(row->id);
}

ObjectEvent event_about(ObjectReference regarding, EventReason reason, std::string note) {
  const EventRow& row = row_of(reason);
  return {.regarding = std::move(regarding),
          .type = std::string(row.type),
          .reason = std::string(row.reason),
          .note = std::move(note)};
}

}  // namespace muster
