#include "explain/lists/pending_workloads.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/workload.h"

namespace muster::explain {
namespace {

using nlohmann::json;

// Of the owners only the controller: muster keeps no other.
json to_json(const ListedWorkload& listed) {
  const Workload& workload = *listed.object;
  json metadata = {{"name", workload.meta.name},
                   {"namespace", workload.meta.ns},
                   {"creationTimestamp", time_to_json(workload.meta.created)}};
  if (const auto& owner = workload.meta.controller) {
    metadata["ownerReferences"] = {{{"apiVersion", owner->api_version.text()},
                                    {"kind", owner->kind.text()},
                                    {"name", owner->name},
                                    {"uid", owner->uid}}};
  }
  return {{"metadata", std::move(metadata)},
          {"priority", workload.priority},
          {"localQueueName", workload.queue_name},
          {"positionInClusterQueue", listed.position_in_cluster_queue},
          {"positionInLocalQueue", listed.position_in_local_queue}};
}

// `at(i)` is the i-th of `count` pending Workloads.
template <class At>
std::string summary(std::string_view version, size_t count, PendingPage page, At at) {
  std::string text = R"({"kind":"PendingWorkloadsSummary","apiVersion":")" + std::string(kVisibilityGroup) + "/" +
                     std::string(version) + R"(","metadata":{},"items":[)";
  const auto all = static_cast<int64_t>(count);
  const int64_t first = std::clamp<int64_t>(page.offset, 0, all);
  const int64_t most = std::clamp<int64_t>(page.limit, 0, PendingPage::kMostLimit);
  for (int64_t i = first; i < std::min(first + most, all); ++i)
    text += (i == first ? "" : ",") + to_text(to_json(at(static_cast<size_t>(i))));
  return text + "]}";
}

Error not_found(std::string_view kind, std::string_view name) {
  return {std::string(kind) + "." + std::string(kVisibilityGroup) + " \"" + std::string(name) + "\" not found"};
}

}  // namespace

Result<std::string> pending_of_cluster_queue(const QueueSnapshot& snapshot, std::string_view version,
                                             std::string_view name, PendingPage page) {
  const auto queue = snapshot.find_cluster_queue(name);
  if (!queue) return fail_with(not_found("clusterqueue", name));
  const QueueSnapshot::Range range = snapshot.of_cluster_queue(*queue);
  return summary(version, range.end - range.first_pending, page,
                 [&](size_t i) -> const ListedWorkload& { return snapshot.workloads()[range.first_pending + i]; });
}

Result<std::string> pending_of_local_queue(const QueueSnapshot& snapshot, std::string_view version, std::string_view ns,
                                           std::string_view name, PendingPage page) {
  if (snapshot.find_local_queue(ns, name) == nullptr) return fail_with(not_found("localqueue", name));
  const QueueSnapshot::Rows& rows = snapshot.pending_of_local_queue(ns, name);
  return summary(version, rows.size(), page,
                 [&](size_t i) -> const ListedWorkload& { return snapshot.workloads()[rows[i]]; });
}

}  // namespace muster::explain
