// What ends a wait: one table of cause, action, and who can take it. `by` follows from the permissions that the action
// needs: "you" where muster-batch-user (manifests/user_roles.cpp) or Kubernetes' edit gives them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "api/explained.h"
#include "jobs/queued_job.h"

namespace muster::explain {

enum class Cause : uint8_t {
  kNotFound,
  kNamespaceNotFound,
  kIntegrationOff,
  kNotInQueue,
  kStartOutside,
  kNamespaceNotSelected,
  kPartOfQueued,
  kPriorityClassMissing,
  kPodPriorityClassMissing,
  kPrebuiltMissing,
  kPrebuiltTaken,
  kPrebuiltOutOfSync,
  kInvalidPodSets,
  kOwnerNotQueued,
  kWorkloadNameConflict,
  kWorkloadNotCreated,
  kWorkloadInNoQueue,
  kLocalQueueMissing,
  kLocalQueueStopped,
  kClusterQueueMissing,
  kClusterQueueStopped,
  kFlavorMissing,
  kClusterQueueInactive,
  kNamespaceNotAdmitted,
  kAdmissionGated,
  kTopology,
  kTaint,
  kAffinity,
  kResourceWithoutQuota,
  kFlavorsFailed,
  kQuotaInUse,
  kQuotaTooSmall,
  kVictimsStop,
  kProtectedWorkloads,
  kOthersNotReady,
  kDevices,
  kLimits,
  kLimitRange,
  kInvalid,
  kAdmissionUnwritten,
  kBeingAdmitted,
  kDeactivated,
  kStopping,
  kBackoff,
  kChecksPending,
  kPreempted,
};
inline constexpr size_t kCauses = static_cast<size_t>(Cause::kPreempted) + 1;

// `$word` in the texts is a value of the caller. A row with an unknown one in `what` does not apply; in `command`, the
// row has no command.
struct Remedy {
  Cause cause;
  std::string_view by;  // empty: no action is needed, `what` says when it starts
  std::string_view what;
  std::string_view command{};              // words, each quoted after its values are filled in
  const ResourceType* suggests = nullptr;  // see ExplainedAction
};
std::span<const Remedy> remedies();

using Words = std::map<std::string, std::string, std::less<>>;
// `$ns` is the namespace of the reply.
void add_remedies(Cause cause, Words words, ExplainReply& reply);

// `$type` and `$name` for kubectl: "jobs", "jobsets.jobset.x-k8s.io".
Words words_of(const ResourceType& type, const std::string& name);

}  // namespace muster::explain
