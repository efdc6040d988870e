// Workloads as lists show them: state, positions, reason, flavors. In the order of QueueSnapshot::workloads().
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/start_estimate.h"
#include "base/result.h"
#include "explain/lists/queue_snapshot.h"
#include "explain/lists/workload_filter.h"

namespace muster::explain {

// The apiVersion of the lists of this folder; each has a kind: WorkloadSummaryList and so on.
inline constexpr std::string_view kListsApiVersion = "lists.muster.batch/v1alpha1";

struct ListError {
  std::string message;
  bool forbidden = false;  // the question compares what the reader cannot see
};

// {kind, apiVersion, metadata: {at, leads, remaining, counts, recordsSubmitters, alarm}, items}. `remaining` is how
// many come after this part. `counts` is by state, of all that match everything but filter.states. An item names its
// Workload only; its labels are those of the job, the first in alphabetic order, at most
// kMostBytesOfLabels, and labelsLeftOut says how many more there are. podReason is pod_reason_of (workload_state.h), if
// there is one, and follows the reason in reasonInWords: "waits for retry: ImagePullBackOff". An error when the
// queue that is asked for does not exist, or when filter.labels would compare jobs of a hidden kind. `starts`: when
// pending ones are estimated to start; null: nothing is said about that.
inline constexpr size_t kMostBytesOfLabels = 2048;
Result<nlohmann::json, ListError> workload_list(const QueueSnapshot& snapshot, const WorkloadFilter& filter,
                                                const StartEstimates* starts = nullptr);
// The same form for any list of this folder.
nlohmann::json list_of(const QueueSnapshot& snapshot, std::string_view kind, nlohmann::json items);

}  // namespace muster::explain
