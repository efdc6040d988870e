// Kueue's visibility API (visibility.kueue.x-k8s.io): the pending Workloads of a queue, in its order and
// with their positions. Source: Kueue KEP-168-2; compared with recorded answers (vectors/pending_positions).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "explain/lists/queue_snapshot.h"

namespace muster::explain {

inline constexpr std::string_view kVisibilityGroup = "visibility.kueue.x-k8s.io";
inline constexpr std::array<std::string_view, 2> kVisibilityVersions = {"v1beta2", "v1beta1"};  // the preferred first

// Which part of a list. Kueue's: at most 100,000 of them at once; nothing for a limit below 1.
struct PendingPage {
  static constexpr int64_t kDefaultLimit = 1000;
  static constexpr int64_t kMostLimit = 100'000;
  int64_t limit = kDefaultLimit;
  int64_t offset = 0;
};

// JSON text of a PendingWorkloadsSummary of that version ("v1beta2"); 100,000 items are some 30 MB, so they are
// never a tree. An error, worded as Kueue's, when there is no such queue.
Result<std::string> pending_of_cluster_queue(const QueueSnapshot& snapshot, std::string_view version,
                                             std::string_view name, PendingPage page);
// All of them are of the LocalQueue's namespace.
Result<std::string> pending_of_local_queue(const QueueSnapshot& snapshot, std::string_view version, std::string_view ns,
                                           std::string_view name, PendingPage page);

}  // namespace muster::explain
