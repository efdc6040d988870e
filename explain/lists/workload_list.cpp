#include "explain/lists/workload_list.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/jobset.h"
#include "api/meta/names.h"
#include "api/meta/selector_text.h"
#include "api/meta/submitter.h"
#include "api/requests.h"
#include "api/workload.h"
#include "explain/lists/workload_state.h"
#include "jobs/job_kind.h"

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

// Of the job; of the Workload itself where no job is known, as of a group of pods.
const Labels& labels_of(const QueueSnapshot& snapshot, const Workload& workload) {
  const ListedJob* job = snapshot.job_of(workload);
  return job == nullptr ? workload.meta.labels : meta_of(job->object).labels;
}

// Whether its job is of a kind that the reader cannot list.
bool is_hidden(const QueueSnapshot& snapshot, const Workload& workload, const WorkloadFilter& filter) {
  if (filter.hidden_kinds.empty() || !workload.meta.controller) return false;
  if (const ListedJob* job = snapshot.job_of(workload)) return filter.hidden_kinds.contains(job->type->id());
  const jobs::JobKind* kind = jobs::find_job_kind(*workload.meta.controller);
  return kind != nullptr && filter.hidden_kinds.contains(kind->type.id());
}

// A user can give a job more labels than a list can show.
void add_labels(const Labels& labels, json& item) {
  json shown = json::object();
  size_t room = kMostBytesOfLabels, left_out = 0;
  for (const auto& [key, value] : labels) {
    const bool fits = left_out == 0 && key.size() + value.size() <= room;
    if (fits) {
      room -= key.size() + value.size();
      shown[key] = value;
    } else {
      ++left_out;
    }
  }
  item["labels"] = std::move(shown);
  if (left_out > 0) item["labelsLeftOut"] = left_out;
}

json to_json(const QueueSnapshot& snapshot, const ListedWorkload& listed, const WorkloadFilter& filter,
             const StartEstimates* starts) {
  const Workload& workload = *listed.object;
  const std::string reason = reason_of(snapshot, listed), pod_reason = pod_reason_of(snapshot, listed);
  const std::string words = in_words(reason) + (pod_reason.empty() ? "" : ": " + pod_reason);
  json item = {{"namespace", workload.meta.ns},
               {"name", workload.meta.name},
               {"localQueue", workload.queue_name},
               {"state", state_of(listed)},
               {"reason", reason},
               {"reasonInWords", words},
               {"since", time_to_json(in_state_since(listed))},
               {"created", time_to_json(workload.meta.created)},
               {"priority", workload.priority}};
  if (!pod_reason.empty()) item["podReason"] = pod_reason;
  if (workload.priority_class) item["priorityClass"] = workload.priority_class->name.text();
  if (const auto& owner = workload.meta.controller)
    item["job"] = {{"apiVersion", owner->api_version.text()}, {"kind", owner->kind.text()}, {"name", owner->name}};
  if (listed.place == Place::kPending || listed.place == Place::kHolding)
    item["clusterQueue"] = snapshot.cluster_queues()[listed.queue].object->meta.name;
  else if (workload.status.admission)
    item["clusterQueue"] = workload.status.admission->cluster_queue;
  if (listed.place == Place::kPending) {
    item["positionInClusterQueue"] = listed.position_in_cluster_queue;
    item["positionInLocalQueue"] = listed.position_in_local_queue;
    const StartEstimate* start = starts == nullptr ? nullptr : starts->find(workload.meta.ns, workload.meta.name);
    if (start != nullptr) item["estimatedStart"] = to_json(*start, starts->at);
  }
  if (listed.place == Place::kHolding || listed.place == Place::kElsewhere) add_admission(workload, item);
  if (listed.place == Place::kFinished) item["finishedAt"] = time_to_json(finished_at(workload));
  if (const std::string_view submitter = workload.meta.annotation(kSubmitterAnnotation); !submitter.empty())
    item["submitter"] = submitter;
  if (!is_hidden(snapshot, workload, filter)) add_labels(labels_of(snapshot, workload), item);
  return item;
}

std::string_view job_name(const Workload& workload) {
  return workload.meta.controller ? std::string_view(workload.meta.controller->name) : workload.meta.name;
}

bool is_found(const Workload& workload, const std::string& search) {
  const auto has = [&](std::string_view name) { return in_lower_case(name).find(search) != std::string::npos; };
  return has(workload.meta.ns) || has(workload.meta.name) || has(job_name(workload));
}

// "jobs.batch".
std::string job_resource(const Workload& workload) {
  const jobs::JobKind* kind = jobs::find_job_kind(*workload.meta.controller);
  if (kind == nullptr) return std::string(workload.meta.controller->kind);
  return full_name(kind->type);
}

using Listed = std::vector<const ListedWorkload*>;

// Of the namespace and queue that the filter names.
Result<Listed, ListError> rows_of(const QueueSnapshot& snapshot, const WorkloadFilter& filter) {
  Listed rows;
  const auto add = [&](const ListedWorkload& listed) {
    if (filter.ns.empty() || listed.object->meta.ns == filter.ns) rows.push_back(&listed);
  };
  const auto add_rows = [&](const QueueSnapshot::Rows& indices) {
    for (const uint32_t row : indices) add(snapshot.workloads()[row]);
  };
  if (!filter.local_queue.empty()) {
    if (snapshot.find_local_queue(filter.ns, filter.local_queue) == nullptr)
      return fail_with(ListError{"there is no LocalQueue " + filter.local_queue + " in namespace " + filter.ns});
    add_rows(snapshot.of_local_queue(filter.ns, filter.local_queue));
  } else if (!filter.cluster_queue.empty()) {
    const auto queue = snapshot.find_cluster_queue(filter.cluster_queue);
    if (!queue) return fail_with(ListError{"there is no ClusterQueue " + filter.cluster_queue});
    const QueueSnapshot::Range& range = snapshot.of_cluster_queue(*queue);
    for (uint32_t row = range.first; row < range.end; ++row) add(snapshot.workloads()[row]);
  } else if (!filter.ns.empty()) {
    add_rows(snapshot.of_namespace(filter.ns));
  } else {
    for (const ListedWorkload& listed : snapshot.workloads()) add(listed);
  }
  if (!filter.finished) return rows;
  for (const ListedWorkload& listed : snapshot.finished()) {
    const auto& admission = listed.object->status.admission;
    const bool of_local = filter.local_queue.empty() || listed.object->queue_name == filter.local_queue;
    if (of_local && (filter.cluster_queue.empty() || (admission && admission->cluster_queue == filter.cluster_queue)))
      add(listed);
  }
  return rows;
}

// `rows` come in the order of the queue, which is kept where the filter's order says nothing.
void put_in_order(Listed& rows, const WorkloadFilter& filter) {
  const auto less = [&](const Workload& a, const Workload& b) {
    switch (filter.order) {
      case WorkloadOrder::kQueue:
        return false;
      case WorkloadOrder::kCreated:
        return a.meta.created < b.meta.created;
      case WorkloadOrder::kName:
        return std::pair(job_name(a), std::string_view(a.meta.ns)) <
               std::pair(job_name(b), std::string_view(b.meta.ns));
      case WorkloadOrder::kPriority:
        return a.priority < b.priority;
    }
    return false;
  };
  if (filter.order == WorkloadOrder::kQueue) {
    if (filter.descending) std::reverse(rows.begin(), rows.end());
    return;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const ListedWorkload* a, const ListedWorkload* b) {
    return filter.descending ? less(*b->object, *a->object) : less(*a->object, *b->object);
  });
}

json page_of(const QueueSnapshot& snapshot, const Listed& rows, const WorkloadFilter& filter,
             const StartEstimates* starts) {
  json items = json::array();
  const auto all = static_cast<int64_t>(rows.size());
  const int64_t first = std::clamp<int64_t>(filter.offset, 0, all);
  const int64_t last = first + std::clamp<int64_t>(filter.limit, 0, all - first);
  for (int64_t i = first; i < last; ++i)
    items.push_back(to_json(snapshot, *rows[static_cast<size_t>(i)], filter, starts));
  json list = list_of(snapshot, "WorkloadSummaryList", std::move(items));
  list["metadata"]["remaining"] = all - last;
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

Result<json, ListError> workload_list(const QueueSnapshot& snapshot, const WorkloadFilter& filter,
                                      const StartEstimates* starts) {
  auto rows = rows_of(snapshot, filter);
  if (!rows) return fail_with(rows.error());
  Listed matching;
  std::map<std::string, int64_t> counts;
  for (const ListedWorkload* listed : *rows) {
    const Workload& workload = *listed->object;
    if (!filter.search.empty() && !is_found(workload, filter.search)) continue;
    if (!filter.submitter.empty() && workload.meta.annotation(kSubmitterAnnotation) != filter.submitter) continue;
    if (!filter.labels.empty()) {
      if (is_hidden(snapshot, workload, filter))
        return fail_with(ListError{"you cannot list " + job_resource(workload) +
                                       ", whose labels the selector compares; ask for that right, or leave the "
                                       "selector out",
                                   true});
      if (!matches_all(filter.labels, labels_of(snapshot, workload))) continue;
    }
    const std::string state = state_of(*listed);
    ++counts[state];
    if (filter.states.empty() || filter.states.contains(state)) matching.push_back(listed);
  }
  put_in_order(matching, filter);
  json list = page_of(snapshot, matching, filter, starts);
  list["metadata"]["counts"] = counts;
  list["metadata"]["recordsSubmitters"] = snapshot.records_submitters();
  return list;
}

}  // namespace muster::explain
