// Who holds a resource that a queue waits for: the Workloads with quota of its ClusterQueue, and those of other
// ClusterQueues of the same cohort tree that have borrowed.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "explain/lists/queue_snapshot.h"

namespace muster::explain {

struct HolderQuestion {
  std::string resource;
  std::string cluster_queue{};
  // Or a LocalQueue of a namespace, whose ClusterQueue counts.
  std::string ns{}, local_queue{};
};

// A list of HolderSummary: who, how much, on which flavor, since when, until when at most; the largest amount
// first. Workloads of namespaces for which `may_know` is false are not named: their number and amount are in
// metadata.hidden. `may_know` is asked once for each namespace, of at most `kMostNamespaces`; the rest counts as
// hidden.
inline constexpr size_t kMostNamespaces = 20;
// An error when there is no such queue, or no Workload has quota for the resource there.
Result<nlohmann::json> holder_list(const QueueSnapshot& snapshot, const HolderQuestion& question,
                                   const std::function<bool(const std::string& ns)>& may_know);

}  // namespace muster::explain
