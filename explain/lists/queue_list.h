// LocalQueues, ClusterQueues and Cohorts as lists show them: state, counts, quota and its use. No Workload is
// named.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "explain/lists/queue_snapshot.h"

namespace muster::explain {

// Of a namespace; empty: of all. A list of LocalQueueSummary.
nlohmann::json local_queue_list(const QueueSnapshot& snapshot, std::string_view ns);
// A list of ClusterQueueSummary.
nlohmann::json cluster_queue_list(const QueueSnapshot& snapshot);
// A list of CohortSummary, with the ClusterQueues that are directly in each.
nlohmann::json cohort_list(const QueueSnapshot& snapshot);

}  // namespace muster::explain
