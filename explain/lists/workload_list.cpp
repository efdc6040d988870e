#include "explain/lists/workload_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/names.h"
#include "api/requests.h"
#include "explain/lists/workload_state.h"

namespace muster::explain {
namespace {

using nlohmann::json;
using Place = ListedWorkload::Place;

// Flavors and amounts that are assigned; each flavor once.
void add_admission(const Workload& workload, json& item) {
  if (!workload.status.admission) return;
  std::set<std::string> flavors;
  Requests usage;
  for (const PodSetAssignment& assignment : workload.status.admission->pod_sets) {
    for (const auto& [resource, flavor] : assignment.flavors) flavors.insert(flavor);
    add(usage, to_requests(assignment.resource_usage));
  }
  item["flavors"] = flavors;
  json amounts = json::object();
  for (const auto& [resource, amount] : usage) amounts[resource] = to_quantity(resource, amount).text();
  item["usage"] = std::move(amounts);
}

json to_json(const QueueSnapshot& snapshot, const ListedWorkload& listed, const StartEstimates* starts) {
  const Workload& workload = *listed.object;
  const std::string reason = reason_of(snapshot, listed);
  json item = {{"namespace", workload.meta.ns},
               {"name", workload.meta.name},
               {"localQueue", workload.queue_name},
               {"state", state_of(listed)},
               {"reason", reason},
               {"reasonInWords", in_words(reason)},
               {"since", time_to_json(in_state_since(listed))},
               {"created", time_to_json(workload.meta.created)},
               {"priority", workload.priority}};
  if (workload.priority_class) item["priorityClass"] = workload.priority_class->name.text();
  if (const auto& owner = workload.meta.controller)
    item["job"] = {{"apiVersion", owner->api_version.text()}, {"kind", owner->kind.text()}, {"name", owner->name}};
  if (listed.place != Place::kElsewhere)
    item["clusterQueue"] = snapshot.cluster_queues()[listed.queue].object->meta.name;
  else if (workload.status.admission)
    item["clusterQueue"] = workload.status.admission->cluster_queue;
  if (listed.place == Place::kPending) {
    item["positionInClusterQueue"] = listed.position_in_cluster_queue;
    item["positionInLocalQueue"] = listed.position_in_local_queue;
    const StartEstimate* start = starts == nullptr ? nullptr : starts->find(workload.meta.ns, workload.meta.name);
    if (start != nullptr) item["estimatedStart"] = to_json(*start, starts->at);
  }
  if (listed.place != Place::kPending) add_admission(workload, item);
  return item;
}

// `at(i)`: the index of the i-th row that is not yet filtered by namespace.
template <class At>
json page_of(const QueueSnapshot& snapshot, size_t count, const WorkloadFilter& filter, const StartEstimates* starts,
             At at) {
  json items = json::array();
  const int64_t most = std::clamp<int64_t>(filter.limit, 0, WorkloadFilter::kMostLimit);
  int64_t passed = 0, remaining = 0;
  for (size_t i = 0; i < count; ++i) {
    const ListedWorkload& listed = snapshot.workloads()[at(i)];
    if (!filter.ns.empty() && listed.object->meta.ns != filter.ns) continue;
    if (passed++ < filter.offset) continue;
    if (static_cast<int64_t>(items.size()) < most)
      items.push_back(to_json(snapshot, listed, starts));
    else
      ++remaining;
  }
  json list = list_of(snapshot, "WorkloadSummaryList", std::move(items));
  list["metadata"]["remaining"] = remaining;
  return list;
}

}  // namespace

json list_of(const QueueSnapshot& snapshot, std::string_view kind, json items) {
  json list = {{"kind", kind},
               {"apiVersion", kListsApiVersion},
               {"metadata", {{"at", time_to_json(snapshot.at())}, {"leads", snapshot.leads()}}},
               {"items", std::move(items)}};
  if (!snapshot.alarm().empty()) list["metadata"]["alarm"] = snapshot.alarm();
  return list;
}

Result<json> workload_list(const QueueSnapshot& snapshot, const WorkloadFilter& filter, const StartEstimates* starts) {
  const auto rows_in = [&](const QueueSnapshot::Rows& rows) {
    return page_of(snapshot, rows.size(), filter, starts, [&](size_t i) { return rows[i]; });
  };
  if (!filter.local_queue.empty()) {
    if (snapshot.find_local_queue(filter.ns, filter.local_queue) == nullptr)
      return fail("there is no LocalQueue " + filter.local_queue + " in namespace " + filter.ns);
    return rows_in(snapshot.of_local_queue(filter.ns, filter.local_queue));
  }
  if (!filter.cluster_queue.empty()) {
    const auto queue = snapshot.find_cluster_queue(filter.cluster_queue);
    if (!queue) return fail("there is no ClusterQueue " + filter.cluster_queue);
    const QueueSnapshot::Range& range = snapshot.of_cluster_queue(*queue);
    return page_of(snapshot, range.end - range.first, filter, starts, [&](size_t i) { return range.first + i; });
  }
  if (!filter.ns.empty()) return rows_in(snapshot.of_namespace(filter.ns));
  return page_of(snapshot, snapshot.workloads().size(), filter, starts, [](size_t i) { return i; });
}

}  // namespace muster::explain
