#include "api/reason_label.h"

#include <algorithm>

#include "api/measurement.h"
#include "api/workload_conditions.h"

namespace muster {
namespace {

constexpr std::string_view kReasons[] = {
    "",
    kAttemptSuccess,
    kAttemptInadmissible,
    // Why there is no quota, or no admission.
    kPendingEvaluationReason,
    kNoMatchingFlavorReason,
    kWaitingForQuotaReason,
    kExceedsMaxQuotaReason,
    kWaitingForPreemptedWorkloadsReason,
    kWaitingForProtectedWorkloadsReason,
    kWaitingForPodsReadyReason,
    kAdmissionGatedReason,
    kMisconfiguredReason,
    kSuspendedReason,
    kNoReservationReason,
    kUnsatisfiedChecksReason,
    // Why it was evicted, and what lies beneath.
    kPreemptedReason,
    kPodsReadyTimeoutReason,
    kAdmissionCheckReason,
    kClusterQueueStoppedReason,
    kLocalQueueStoppedReason,
    kNodeFailuresReason,
    kFlavorFallbackReason,
    kDeactivatedReason,
    kWaitForStartReason,
    kWaitForRecoveryReason,
    kRequeuingLimitExceededReason,
    kMaximumExecutionTimeExceededReason,
    kFlavorsExhaustedReason,
    "DeactivatedDueToAdmissionCheck",
    "DeactivatedDueToRequeuingLimitExceeded",
    "DeactivatedDueToMaximumExecutionTimeExceeded",
    "DeactivatedDueToFlavorsExhausted",
    // Why a flavor failed.
    "TimeoutForPodsReadyExceeded",
    "AdmissionCheckRejected",
    // Why it was preempted.
    "InClusterQueue",
    "InCohortReclamation",
    "InCohortReclaimWhileBorrowing",
    "InCohortFairSharing",
};

}  // namespace

std::string reason_label(std::string_view reason) {
  const bool known = std::find(std::begin(kReasons), std::end(kReasons), reason) != std::end(kReasons);
  return std::string(known ? reason : "other");
}

}  // namespace muster
