// The reasons of Events: tools and alerts filter by them. Each is one row, which docs/events.md repeats.
//
// A new Event is an enumerator, its row in event_reasons.cpp, and its row in docs/events.md, which the test of the page
// prints. Reasons of Kueue and JobSet stay as those programs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/meta/object_event.h"

namespace muster {

enum class EventReason : uint8_t {
  // --- A Workload and its quota ---
  kQuotaReserved,
  kAdmitted,
  kNotReserved,
  kWaitingForQuota,
  kExceedsMaxQuota,
  kNoMatchingFlavor,
  kWaitingForPreemptedWorkloads,
  kWaitingForProtectedWorkloads,
  kWaitingForPodsReady,
  kMisconfigured,
  kPendingEvaluation,
  kAdmissionGated,
  kAdmissionGateCleared,
  kAdmissionCheckRejected,
  kEvictedDueTo,
  kPreempted,
  kPreemptedWorkload,
  kMaximumExecutionTimeExceeded,
  kFlavorsExhausted,
  kFlavorsRetried,
  kOwnerReferencesAdded,
  kDeleted,
  // --- A job and its Workload ---
  kWaits,
  kCreatedWorkload,
  kUpdatedWorkload,
  kDeletedWorkload,
  kFinishedWorkload,
  kStarted,
  kStopped,
  kSuspended,
  kSuspendedForExcess,
  kInvalidPodSets,
  kUpdatedAdmissionCheck,
  kJobNestingTooDeep,
  kWorkloadPriorityClassNotFound,
  kWorkloadNameConflict,
  kWorkloadCreationFailed,
  kWorkloadTakenBack,
  kPrebuiltWorkloadTaken,
  kPrebuiltWorkloadOutOfSync,
  kPodsNotReady,
  kPodsOverstay,
  kPodsLeft,
  // --- Pods, groups of pods, sets ---
  kErrWorkloadCompose,
  kExcessPodDeleted,
  kExcessPodsWait,
  kFailedToStart,
  kOutdatedPodDeleted,
  kReplicasChanged,
  kQueueChanged,
  kTooManyGroups,
  // --- JobSets ---
  kAllJobsCompleted,
  kFailedJobs,
  kFailJobSetAction,
  kReachedMaxRestarts,
  kDeadlineExceeded,
  kRestartJobSetAction,
  kRestartJobSetAndIgnoreMaxRestartsAction,
  kRestartJobAction,
  kRestartJobAndIgnoreMaxRestartsAction,
  kDefaultFailurePolicy,
  kFailurePolicyRule,
  kJobsReady,
  kJobSetCompleted,
  kJobSetFailed,
  kJobSetSuspended,
  kSuspendedJobs,
  kResumeJobs,
  kInOrderStartupPolicyInProgress,
  kInOrderStartupPolicyCompleted,
  kJobCreationFailed,
  kHeadlessServiceCreationFailed,
  kPVCCreationFailed,
  kJobReplaced,
  kInPlaceRestartUnavailable,
  // --- Gangs ---
  kGroupWaiting,
  kGroupStarted,
  kGroupSchedulingTimeout,
  kConfigMapNameConflict,
  kConfigMapCreationFailed,
  // --- muster itself ---
  kUnsupported,
  kInternalError,
  kGroupSchedulingFieldAdded,
  kGroupSchedulingFieldLost,
  kForeignJobSetDefinition,
};

inline constexpr std::string_view kFromKueue = "Kueue", kFromJobSet = "JobSet", kFromMuster = "muster";

struct EventRow {
  EventReason id;
  std::string_view reason;     // as on the API
  std::string_view type;       // kNormalEvent or kWarningEvent
  std::string_view regarding;  // kinds; "job": each kind that muster queues
  std::string_view origin;     // whose contract it is: kFromKueue, kFromJobSet or kFromMuster
  std::string_view sentence;   // for docs/events.md
  bool open = false;           // the reason on the API goes on, as in "EvictedDueToPreempted"
};

// In the order of the enumerators.
std::span<const EventRow> event_rows();
const EventRow& row_of(EventReason reason);
// As on the API; of an open row its beginning.
std::string_view to_text(EventReason reason);
// The row of this type that has exactly this reason, where a condition has decided it.
std::optional<EventReason> find_event_reason(std::string_view type, std::string_view reason);

// The only maker of Events: the type follows from the row. Of an open row the caller appends the end of the reason.
ObjectEvent event_about(ObjectReference regarding, EventReason reason, std::string note);

}  // namespace muster
