// Where a Workload stands, in one token each: a state, and the reason for it in Kueue's words where Kueue
// has one. What lists show; `muster explain` says more.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "explain/lists/queue_snapshot.h"

namespace muster::explain {

inline constexpr std::array<std::string_view, 7> kWorkloadStates = {"Pending",  "QuotaReserved", "Admitted", "Evicted",
                                                                    "Inactive", "Finished",      "Failed"};
// One of them. "Evicted": it still holds its quota. Of a Workload whose ClusterQueue is not visible: by its conditions.
std::string state_of(const ListedWorkload& listed);
// One token: "WaitingForQuota", "ClusterQueueStopped", "PodsNotReady", "Running".
std::string reason_of(const QueueSnapshot& snapshot, const ListedWorkload& listed);
// What to call a queue of a kind that cannot be listed: ClusterQueueNotVisible.
inline constexpr std::string_view kClusterQueueNotVisibleReason = "ClusterQueueNotVisible";
// Of a Workload that was evicted because its pods were late, and still holds its quota, backs off or is deactivated for
// it: the reason of the pods, "ImagePullBackOff" (api/pods/pod_reason.h). From the message of the condition, so only to
// show it. Empty: it is not known, or there is no such eviction.
std::string pod_reason_of(const QueueSnapshot& snapshot, const ListedWorkload& listed);
// And a queue that names objects of such a kind: whether it is active is not known.
inline constexpr std::string_view kStateNotVisibleReason = "StateNotVisible";
// The reason in at most three words: "waiting for quota". Of a token that is not known, its own words.
std::string in_words(std::string_view reason);
// Since when it is in its state: a pending one since its creation or its last eviction.
Timestamp in_state_since(const ListedWorkload& listed);
// When it finished; zero: it has not.
Timestamp finished_at(const Workload& workload);
// When the holder of quota is deactivated at the latest (spec.maximumExecutionTimeSeconds); zero: never.
Timestamp holds_until(const Workload& workload);

}  // namespace muster::explain
