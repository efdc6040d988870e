// Workloads as lists show them: state, positions, reason, flavors. In the order of QueueSnapshot::workloads().
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/start_estimate.h"
#include "base/result.h"
#include "explain/lists/queue_snapshot.h"

namespace muster::explain {

// The apiVersion of the lists of this folder; each has a kind: WorkloadSummaryList and so on.
inline constexpr std::string_view kListsApiVersion = "lists.muster.batch/v1alpha1";

// Which Workloads, and how many at once. Empty: all.
struct WorkloadFilter {
  std::string ns{};
  std::string local_queue{};  // of `ns`
  std::string cluster_queue{};
  static constexpr int64_t kDefaultLimit = 500;
  static constexpr int64_t kMostLimit = 2000;
  int64_t limit = kDefaultLimit;
  int64_t offset = 0;
};

// {kind, apiVersion, metadata: {at, leads, remaining, alarm}, items}; `remaining` is how many come after this part. An
// item names its Workload and nobody else's. An error when the queue that is asked for does not exist. `starts`: when
// pending ones are estimated to start; null: nothing is said about that.
Result<nlohmann::json> workload_list(const QueueSnapshot& snapshot, const WorkloadFilter& filter,
                                     const StartEstimates* starts = nullptr);
// The same form for any list of this folder.
nlohmann::json list_of(const QueueSnapshot& snapshot, std::string_view kind, nlohmann::json items);

}  // namespace muster::explain
