// The words of the queue API's conditions, reasons and finalizer, spelled once: tools
// that users have filter by them. Source: Kueue (kueue.x-k8s.io/v1beta2).
#pragma once

#include <string_view>

namespace muster {

// On Workloads, and on the queue objects that are in use.
inline constexpr std::string_view kResourceInUseFinalizer = "kueue.x-k8s.io/resource-in-use";

// --- Types of a Workload's conditions ---
inline constexpr std::string_view kQuotaReservedCondition = "QuotaReserved";
inline constexpr std::string_view kAdmittedCondition = "Admitted";
inline constexpr std::string_view kPodsReadyCondition = "PodsReady";
inline constexpr std::string_view kEvictedCondition = "Evicted";
inline constexpr std::string_view kPreemptedCondition = "Preempted";
inline constexpr std::string_view kRequeuedCondition = "Requeued";
inline constexpr std::string_view kFinishedCondition = "Finished";
// muster has decided to deactivate the Workload; goes once that is done.
inline constexpr std::string_view kDeactivationTargetCondition = "DeactivationTarget";
inline constexpr std::string_view kBlockedOnPreemptionGatesCondition = "BlockedOnPreemptionGates";

// --- QuotaReserved ---
inline constexpr std::string_view kQuotaReservedReason = "QuotaReserved";
inline constexpr std::string_view kPendingEvaluationReason = "PendingEvaluation";
inline constexpr std::string_view kNoMatchingFlavorReason = "NoMatchingFlavor";
inline constexpr std::string_view kWaitingForQuotaReason = "WaitingForQuota";
inline constexpr std::string_view kExceedsMaxQuotaReason = "ExceedsMaxQuota";
inline constexpr std::string_view kWaitingForPreemptedWorkloadsReason = "WaitingForPreemptedWorkloads";
// muster's own: the Workloads that it could preempt are protected (docs/preemption-protection.md).
inline constexpr std::string_view kWaitingForProtectedWorkloadsReason = "WaitingForProtectedWorkloads";
inline constexpr std::string_view kWaitingForPodsReadyReason = "WaitingForPodsReady";
inline constexpr std::string_view kAdmissionGatedReason = "AdmissionGated";
inline constexpr std::string_view kMisconfiguredReason = "Misconfigured";  // a queue is missing or cannot work
inline constexpr std::string_view kSuspendedReason = "Suspended";          // a queue is stopped

// --- Admitted ---
inline constexpr std::string_view kAdmittedReason = "Admitted";
inline constexpr std::string_view kNoReservationReason = "NoReservation";
inline constexpr std::string_view kUnsatisfiedChecksReason = "UnsatisfiedAdmissionChecks";

// --- PodsReady ---
inline constexpr std::string_view kWaitForStartReason = "WaitForStart";
inline constexpr std::string_view kStartedReason = "Started";
// muster's own, of jobs whose parts start one after another (dependsOn, startupPolicy of a JobSet): all that can start
// is ready; what started next is not ready yet.
inline constexpr std::string_view kStartedInPartReason = "StartedInPart";
inline constexpr std::string_view kWaitForNextPartReason = "WaitForNextPart";
inline constexpr std::string_view kWaitForRecoveryReason = "WaitForRecovery";
inline constexpr std::string_view kRecoveredReason = "Recovered";

// --- Evicted ---
inline constexpr std::string_view kPreemptedReason = "Preempted";
inline constexpr std::string_view kPodsReadyTimeoutReason = "PodsReadyTimeout";
inline constexpr std::string_view kAdmissionCheckReason = "AdmissionCheck";
inline constexpr std::string_view kClusterQueueStoppedReason = "ClusterQueueStopped";
inline constexpr std::string_view kLocalQueueStoppedReason = "LocalQueueStopped";
inline constexpr std::string_view kNodeFailuresReason = "NodeFailures";
// muster's own (KEP-2560): the Workload leaves a flavor that has failed for it.
inline constexpr std::string_view kFlavorFallbackReason = "FlavorFallback";
// By hand. By muster: with a cause (api/texts/workload_texts.h).
inline constexpr std::string_view kDeactivatedReason = "Deactivated";

// --- Preempted: why, by what the preemptor has over the Workload ---
inline constexpr std::string_view kInClusterQueueReason = "InClusterQueue";
inline constexpr std::string_view kInCohortReclamationReason = "InCohortReclamation";
inline constexpr std::string_view kInCohortReclaimWhileBorrowingReason = "InCohortReclaimWhileBorrowing";
inline constexpr std::string_view kInCohortFairSharingReason = "InCohortFairSharing";

// --- DeactivationTarget ---
inline constexpr std::string_view kRequeuingLimitExceededReason = "RequeuingLimitExceeded";
inline constexpr std::string_view kMaximumExecutionTimeExceededReason = "MaximumExecutionTimeExceeded";
inline constexpr std::string_view kFlavorsExhaustedReason = "FlavorsExhausted";  // muster's own (KEP-2560)

// --- Requeued ---
inline constexpr std::string_view kBackoffFinishedReason = "BackoffFinished";
inline constexpr std::string_view kReactivatedReason = "Reactivated";
inline constexpr std::string_view kClusterQueueRestartedReason = "ClusterQueueRestarted";
inline constexpr std::string_view kLocalQueueRestartedReason = "LocalQueueRestarted";

// --- Finished ---
inline constexpr std::string_view kSucceededReason = "Succeeded";
inline constexpr std::string_view kFailedReason = "Failed";
inline constexpr std::string_view kOutOfSyncReason = "OutOfSync";
inline constexpr std::string_view kOwnerNotFoundReason = "OwnerNotFound";
inline constexpr std::string_view kFailedToStartReason = "FailedToStart";

// --- States of an admission check ---
inline constexpr std::string_view kCheckPending = "Pending";
inline constexpr std::string_view kCheckReady = "Ready";
inline constexpr std::string_view kCheckRetry = "Retry";
inline constexpr std::string_view kCheckRejected = "Rejected";

// --- Queues and checks ---
inline constexpr std::string_view kActiveCondition = "Active";
inline constexpr std::string_view kReadyReason = "Ready";
inline constexpr std::string_view kStoppedReason = "Stopped";
inline constexpr std::string_view kTerminatingReason = "Terminating";
inline constexpr std::string_view kFlavorNotFoundReason = "FlavorNotFound";
inline constexpr std::string_view kAdmissionCheckNotFoundReason = "AdmissionCheckNotFound";
inline constexpr std::string_view kAdmissionCheckInactiveReason = "AdmissionCheckInactive";
inline constexpr std::string_view kClusterQueueInactiveReason = "ClusterQueueIsInactive";
inline constexpr std::string_view kClusterQueueDoesNotExistReason = "ClusterQueueDoesNotExist";

}  // namespace muster
