#include "explain/lists/queue_list.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "api/jobset.h"
#include "api/requests.h"
#include "api/workload.h"
#include "api/workload_conditions.h"
#include "explain/lists/workload_list.h"
#include "explain/lists/workload_state.h"

namespace muster::explain {
namespace {

using nlohmann::json;

std::string text(const std::string& resource, int64_t amount) {
  return to_quantity(resource, amount).text();
}

json to_json(const std::vector<scheduler::ListedQuota>& quotas) {
  json list = json::array();
  for (const scheduler::ListedQuota& quota : quotas) {
    json item = {{"flavor", quota.flavor},
                 {"resource", quota.resource},
                 {"nominal", text(quota.resource, quota.nominal)},
                 {"used", text(quota.resource, quota.used)},
                 {"borrowed", text(quota.resource, quota.borrowed)},
                 {"free", text(quota.resource, quota.free)},
                 {"max", text(quota.resource, quota.most)}};
    if (quota.borrowing_limit) item["borrowingLimit"] = text(quota.resource, *quota.borrowing_limit);
    list.push_back(std::move(item));
  }
  return list;
}

// The start of the longest wait; null: no Workload waits.
json oldest(const QueueSnapshot& snapshot, const auto& rows) {
  Timestamp first{};
  for (const uint32_t row : rows) {
    const Timestamp since = in_state_since(snapshot.workloads()[row]);
    if (first.is_zero() || since < first) first = since;
  }
  return time_to_json(first);
}

json oldest_of(const QueueSnapshot& snapshot, const QueueSnapshot::Range& range) {
  QueueSnapshot::Rows rows;
  for (uint32_t row = range.first_pending; row < range.end; ++row) rows.push_back(row);
  return oldest(snapshot, rows);
}

json usage_of(const state::FlavorAmounts& amounts) {
  json list = json::array();
  for (const auto& [flavor, requests] : amounts) {
    for (const auto& [resource, amount] : requests)
      list.push_back({{"flavor", flavor}, {"resource", resource}, {"used", text(resource, amount)}});
  }
  return list;
}

// Of an inactive queue, by the reason. Unknown: it rests on what is not visible.
std::string_view state_by(std::string_view reason) {
  if (reason.empty()) return "Active";
  if (reason == kStoppedReason || reason == kLocalQueueStoppedReason) return "Stopped";
  return reason == kClusterQueueNotVisibleReason || reason == kStateNotVisibleReason ? "Unknown" : "Inactive";
}

// The state of a LocalQueue, and why it is not active. Unknown: its ClusterQueue is not visible.
void add_state(const QueueSnapshot& snapshot, const LocalQueue& queue, json& item) {
  std::string reason;
  const auto cluster = snapshot.find_cluster_queue(queue.cluster_queue);
  if (queue.stop_policy != StopPolicy::kNone) {
    reason = kLocalQueueStoppedReason;
  } else if (!cluster) {
    reason = snapshot.hides(kClusterQueues) ? kClusterQueueNotVisibleReason : "ClusterQueueMissing";
  } else if (const std::string& inactive = snapshot.cluster_queues()[*cluster].inactive_reason; !inactive.empty()) {
    reason = inactive == kStoppedReason           ? std::string(kClusterQueueStoppedReason)
             : inactive == kStateNotVisibleReason ? inactive
                                                  : "ClusterQueueInactive";
  }
  item["state"] = state_by(reason);
  if (reason.empty()) return;
  item["reason"] = reason;
  item["reasonInWords"] = in_words(reason);
}

}  // namespace

json local_queue_list(const QueueSnapshot& snapshot, std::string_view ns) {
  json items = json::array();
  for (const ListedLocalQueue& listed : snapshot.local_queues()) {
    const LocalQueue& queue = *listed.object;
    if (!ns.empty() && queue.meta.ns != ns) continue;
    const QueueSnapshot::Rows& pending = snapshot.pending_of_local_queue(queue.meta.ns, queue.meta.name);
    json item = {{"namespace", queue.meta.ns},
                 {"name", queue.meta.name},
                 {"clusterQueue", queue.cluster_queue},
                 {"pending", listed.counts.pending},
                 {"reserving", listed.counts.reserving},
                 {"admitted", listed.counts.admitted},
                 {"oldestPendingSince", oldest(snapshot, pending)},
                 {"usage", usage_of(listed.counts.reserved)}};
    add_state(snapshot, queue, item);
    items.push_back(std::move(item));
  }
  return list_of(snapshot, "LocalQueueSummaryList", std::move(items));
}

json cluster_queue_list(const QueueSnapshot& snapshot) {
  json items = json::array();
  for (uint32_t i = 0; i < snapshot.cluster_queues().size(); ++i) {
    const scheduler::ListedClusterQueue& queue = snapshot.cluster_queues()[i];
    json item = {{"name", queue.object->meta.name},
                 {"cohort", queue.cohort},
                 {"strategy",
                  queue.object->queueing_strategy == QueueingStrategy::kStrictFifo ? "StrictFIFO" : "BestEffortFIFO"},
                 {"state", state_by(queue.inactive_reason)},
                 {"pending", queue.pending.size()},
                 {"reserving", queue.holders.size()},
                 {"oldestPendingSince", oldest_of(snapshot, snapshot.of_cluster_queue(i))},
                 {"quotas", to_json(queue.quotas)}};
    if (!queue.inactive_reason.empty()) {
      item["reason"] = queue.inactive_reason;
      item["reasonInWords"] = in_words(queue.inactive_reason);
      item["message"] = queue.inactive_message;
    }
    items.push_back(std::move(item));
  }
  return list_of(snapshot, "ClusterQueueSummaryList", std::move(items));
}

json cohort_list(const QueueSnapshot& snapshot) {
  std::map<std::string, json> queues;
  for (const scheduler::ListedClusterQueue& queue : snapshot.cluster_queues()) {
    if (!queue.cohort.empty()) queues[queue.cohort].push_back(queue.object->meta.name);
  }
  json items = json::array();
  for (const scheduler::ListedCohort& cohort : snapshot.cohorts()) {
    const auto own = queues.find(cohort.name);
    items.push_back({{"name", cohort.name},
                     {"parent", cohort.parent},
                     {"clusterQueues", own == queues.end() ? json::array() : own->second},
                     {"quotas", to_json(cohort.quotas)}});
  }
  return list_of(snapshot, "CohortSummaryList", std::move(items));
}

}  // namespace muster::explain
