// The reasons of explain: programs read them. Each is one row, and docs/explain.md repeats its sentence.
//
// A new reason is an enumerator, its row in explain_reasons.cpp, and its row in docs/explain.md, which the test of the
// page prints. Where Kueue has a name for a reason, it is that name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace muster {

// In the order of docs/explain.md: that of the path of a job.
enum class ExplainReason : uint8_t {
  kNotFound,
  kKindNotQueued,
  kQueuedAsJobs,
  kQueuedAsPods,
  kPartOfAnother,
  kNotInQueue,
  kKindNotWatched,
  kPodGroupIncomplete,
  kNoReplicas,
  kNoQueueName,
  kIntegrationDisabled,
  kManagedByOther,
  kNamespaceNotSelected,
  kOwnedByQueuedJob,
  kUnsupported,
  kCreationRefused,
  kJobsMissing,
  kOwnerNotQueued,
  kWorkloadNotCreated,
  kPriorityClassMissing,
  kPrebuiltWorkloadMissing,
  kPrebuiltWorkloadTaken,
  kPrebuiltWorkloadOutOfSync,
  kWorkloadNameConflict,
  kInvalidPodSets,
  kLocalQueueMissing,
  kLocalQueueStopped,
  kClusterQueueMissing,
  kClusterQueueStopped,
  kClusterQueueInactive,
  kNamespaceNotAdmitted,
  kAdmissionGated,
  kPendingEvaluation,
  kBeingAdmitted,
  kAdmissionNotWritten,
  kWaitingForQuota,
  kExceedsMaxQuota,
  kNoMatchingFlavor,
  kMisconfigured,
  kWaitingForPreemptedWorkloads,
  kWaitingForProtectedWorkloads,
  kWaitingForPodsReady,
  kUnsatisfiedAdmissionChecks,
  kBackoff,
  kStopping,
  kPreempted,
  kDeactivated,
  kDeactivatedDueTo,
  kStarting,
  kPodsNotReady,
  kStartBarrier,
  kAdmitted,
  kRunning,
  kFinished,
  kBeingDeleted,
  kUnknown,
};

struct ExplainReasonRow {
  ExplainReason id;
  std::string_view token;  // in the answer
  std::string_view
      first_line;           // an example, for docs/explain.md; empty: the row of the page is that of the next reason
  bool by_command = false;  // of an object that the command reads itself; muster never answers with it
  bool open = false;        // the token goes on, as in "DeactivatedDueToFlavorsExhausted"
};

// In the order of the enumerators.
std::span<const ExplainReasonRow> explain_reason_rows();
// As in the answer; of an open row its beginning.
std::string_view to_text(ExplainReason reason);

}  // namespace muster
