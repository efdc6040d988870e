#include "api/texts/reason_label.h"

#include <algorithm>

#include "api/flavor_fallback.h"
#include "api/measurement.h"
#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"

namespace muster {
namespace {

constexpr std::string_view kReasons[] = {
    "",
    kAttemptSuccess,
    kAttemptInadmissible,
    // The reason why the Workload has no quota, or no admission.
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
    // The reason of the eviction, and its underlying cause.
    kPreemptedReason,
    kPodsReadyTimeoutReason,
    kAdmissionCheckReason,
    kClusterQueueStoppedReason,
    kLocalQueueStoppedReason,
    kNodeFailuresReason,
    kFlavorFallbackReason,
    kQueueChangedReason,
    kDeactivatedReason,
    kWaitForStartReason,
    kWaitForRecoveryReason,
    kRequeuingLimitExceededReason,
    kMaximumExecutionTimeExceededReason,
    kFlavorsExhaustedReason,
    // Why it was preempted.
    kInClusterQueueReason,
    kInCohortReclamationReason,
    kInCohortReclaimWhileBorrowingReason,
    kInCohortFairSharingReason,
};

// Why muster deactivates a Workload.
constexpr std::string_view kCauses[] = {kAdmissionCheckReason, kRequeuingLimitExceededReason,
                                        kMaximumExecutionTimeExceededReason, kFlavorsExhaustedReason};

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool is_known(std::string_view reason) {
  if (const auto cause = deactivation_cause(reason)) return contains(kCauses, *cause);
  // Why a flavor failed.
  if (reason == to_text(FallbackTrigger::kTimeout) || reason == to_text(FallbackTrigger::kRejectedCheck)) return true;
  return contains(kReasons, reason);
}

}  // namespace

std::string reason_label(std::string_view reason) {
  return std::string(is_known(reason) ? reason : "other");
}

}  // namespace muster
