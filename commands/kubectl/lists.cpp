#include "commands/kubectl/lists.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/submitter.h"
#include "api/workload.h"
#include "commands/kubectl/local_reading.h"
#include "explain/lists/holder_list.h"
#include "explain/lists/queue_list.h"
#include "explain/lists/workload_list.h"
#include "jobs/job_kind.h"
#include "server/lists_route.h"

namespace muster::commands {
namespace {

using nlohmann::json;

std::string path_of_list(ListKind kind) {
  switch (kind) {
    case ListKind::kWorkloadList:
      return std::string(server::kListsPath) + "workloads";
    case ListKind::kLocalQueueList:
      return std::string(server::kListsPath) + "localqueues";
    case ListKind::kClusterQueueList:
      return std::string(server::kListsPath) + "clusterqueues";
    case ListKind::kCohortList:
      return std::string(server::kListsPath) + "cohorts";
    case ListKind::kHolderList:
      return std::string(server::kListsPath) + "holders";
    case ListKind::kUsage:
      return std::string(server::kListsPath) + "usage";
  }
  return "";
}

kube::Query query_of(const ListQuestion& question) {
  kube::Query query;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) query.emplace_back(name, value);
  };
  add("namespace", question.ns);
  add("queue", question.local_queue);
  add("clusterQueue", question.cluster_queue);
  add("resource", question.resource);
  for (const auto& [name, value] : question.filter) add(name.c_str(), value);
  return query;
}

// `limit` of 0: the whole list.
Result<json, NoAnswer> ask_for_part(MusterReader& reader, const ListQuestion& question, int64_t limit, int64_t offset) {
  kube::Query query = query_of(question);
  if (limit > 0) {
    query.emplace_back("limit", std::to_string(limit));
    query.emplace_back("offset", std::to_string(offset));
  }
  auto part = reader.ask(path_of_list(question.kind), query, question.ns.empty() ? reader.ns() : question.ns);
  if (!part) return fail_with(part.error());
  if (!part->is_object() || string_at(*part, {"apiVersion"}) != explain::kListsApiVersion)
    return fail_with(NoAnswer{"this muster does not serve lists", true});
  return part;
}

Result<json, NoAnswer> ask_muster(MusterReader& reader, const ListQuestion& question) {
  if (question.kind != ListKind::kWorkloadList) return ask_for_part(reader, question, 0, 0);
  if (question.limit > 0) return ask_for_part(reader, question, question.limit, question.offset);
  json all;
  for (int64_t got = 0;;) {
    auto part = ask_for_part(reader, question, explain::WorkloadFilter::kMostLimit, got);
    if (!part) return part;
    const json items = array_at(*part, {"items"});
    const int64_t remaining = int_at(*part, {"metadata", "remaining"}).value_or(0);
    got += static_cast<int64_t>(items.size());
    if (all.is_null())
      all = std::move(*part);
    else
      all["items"].insert(all["items"].end(), items.begin(), items.end());
    if (remaining <= 0 || items.empty()) break;
  }
  if (all["metadata"].contains("remaining")) all["metadata"]["remaining"] = 0;
  return all;
}

// The kinds on which the scheduler depends. Jobs and pods are read only for the labels that a selector compares.
bool matters(const ResourceType& type, bool compares_labels) {
  if (compares_labels && jobs::find_job_kind(type) != nullptr) return true;
  for (const ResourceType* no : {&kJobs, &kJobSets, &kPods, &kConfigMaps, &kServices}) {
    if (*no == type) return false;
  }
  return true;
}

const ResourceType& type_of(ListKind kind) {
  if (kind == ListKind::kLocalQueueList) return kLocalQueues;
  if (kind == ListKind::kClusterQueueList) return kClusterQueues;
  return kind == ListKind::kCohortList ? kCohorts : kWorkloads;
}

// The kinds of jobs whose labels are not known here.
std::set<KindId> hidden_kinds(const LocalReading& reading, bool compares_labels) {
  std::set<KindId> hidden = reading.missing();
  if (compares_labels) return hidden;
  for (const jobs::JobKind* kind : jobs::job_kinds()) hidden.insert(kind->type.id());
  return hidden;
}

Result<json> make_workload_list(const explain::QueueSnapshot& snapshot, const ListQuestion& question,
                                const LocalReading& reading) {
  auto filter = explain::read_workload_filter(question.filter);
  if (!filter) return fail(filter.error().message);
  if (!filter->submitter.empty() && !snapshot.records_submitters()) return fail(std::string(explain::kNoSubmitters));
  filter->ns = question.ns;
  filter->local_queue = question.local_queue;
  filter->cluster_queue = question.cluster_queue;
  filter->limit = question.limit > 0 ? question.limit : INT64_MAX;
  filter->offset = question.offset;
  filter->hidden_kinds = hidden_kinds(reading, !filter->labels.empty());
  auto list = explain::workload_list(snapshot, *filter);
  if (!list) return fail(list.error().message);
  return std::move(*list);
}

// muster's own configuration is not known here, and only muster writes submitters.
bool records_submitters(const explain::QueueListing& listing, const ReconcilerSettings& settings) {
  const auto has = [](const WorkloadPtr& workload) { return !workload->meta.annotation(kSubmitterAnnotation).empty(); };
  if (settings.queues.rules.record_submitter) return true;
  if (std::any_of(listing.finished.begin(), listing.finished.end(), has)) return true;
  if (std::any_of(listing.listing.elsewhere.begin(), listing.listing.elsewhere.end(), has)) return true;
  for (const scheduler::ListedClusterQueue& queue : listing.listing.cluster_queues) {
    for (const scheduler::PendingEntry& entry : queue.pending)
      if (has(entry.object)) return true;
    for (const scheduler::HolderEntry& holder : queue.holders)
      if (has(holder.object)) return true;
  }
  return false;
}

Result<json> make_list(const explain::QueueSnapshot& snapshot, const ListQuestion& question,
                       const LocalReading& reading) {
  switch (question.kind) {
    case ListKind::kWorkloadList:
      return make_workload_list(snapshot, question, reading);
    case ListKind::kLocalQueueList:
      return explain::local_queue_list(snapshot, question.ns);
    case ListKind::kClusterQueueList:
      return explain::cluster_queue_list(snapshot);
    case ListKind::kCohortList:
      return explain::cohort_list(snapshot);
    case ListKind::kHolderList:
      // A user who can list these objects can see their names.
      return explain::holder_list(snapshot,
                                  {question.resource, question.cluster_queue, question.ns, question.local_queue},
                                  [](const std::string&) { return true; });
    case ListKind::kUsage:
      break;
  }
  return fail("there is no such list");
}

Result<FetchedList> look_here(MusterReader& reader, const ListQuestion& question) {
  if (question.kind == ListKind::kUsage) return fail("only muster itself knows what queues have used before");
  auto settings = reader.settings();
  if (!settings) return fail(settings.error().message);
  const Now now = system_clock().now();
  LocalReading reading(*settings);
  const std::string ns = question.ns.empty() ? reader.ns() : question.ns;
  const bool compares_labels = question.filter.contains("labelSelector");
  const auto wanted = [&](const ResourceType& type) { return matters(type, compares_labels); };
  if (auto read = reading.read(reader.api(), type_of(question.kind), ns, wanted, now); !read)
    return fail(read.error().message);
  if (question.ns.empty() && reading.partial().contains(type_of(question.kind).id()))
    return fail("you cannot list " + std::string(type_of(question.kind).plural) +
                " in all namespaces; name one with -n");
  const engine::Engine& engine = reading.engine();
  explain::QueueListing listing = explain::take_queue_listing(engine.state(), engine.decisions(), false, now);
  listing.unseen = reading.missing();
  listing.records_submitters = records_submitters(listing, *settings);
  auto list = make_list(explain::QueueSnapshot(std::move(listing)), question, reading);
  if (!list) return fail(list.error().message);
  std::vector<std::string> notes = reading.notes();
  if (reading.partial().contains(kWorkloads.id()))
    notes.emplace_back("More quota seems free, and fewer Workloads ahead, than is true.");
  return FetchedList{std::move(*list), std::move(notes)};
}

}  // namespace

Result<FetchedList> fetch_list(MusterReader& reader, const ListQuestion& question, bool local) {
  bool answered = false;
  const auto ask = [&]() -> Result<FetchedList, NoAnswer> {
    auto list = ask_muster(reader, question);
    answered = list.ok();
    // The past cannot be read from the cluster, so the answer is muster's reason.
    if (!list)
      return fail_with(NoAnswer{list.error().message, list.error().look_here && question.kind != ListKind::kUsage});
    return FetchedList{*list, {}, std::string(string_at(*list, {"metadata", "alarm"}))};
  };
  auto fetched = ask_or_look_here<FetchedList>(local, ask, [&] { return look_here(reader, question); });
  if (!fetched || answered) return fetched;
  fetched->alarm = reader.alarm();
  if (!fetched->alarm.empty()) fetched->list["metadata"]["alarm"] = fetched->alarm;
  return fetched;
}

}  // namespace muster::commands
