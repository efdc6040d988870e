// The recorded answers of Kueue's visibility API (vectors/pending_positions): queues and Workloads are put into
// the scheduler, heads are popped as the steps say, and every answer is compared.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "api/pods/pod_requests.h"
#include "explain/lists/pending_workloads.h"
#include "scheduler/eligibility.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/listing.h"
#include "test/support/vectors.h"

namespace pending_workloads_vectors_test {

using namespace muster;
using namespace muster::explain;
using nlohmann::json;

namespace {

class Replay {
 public:
  explicit Replay(const json& input) : input_(input) {
    for (const char* ns : {"ns-a", "ns-b"}) scheduler_.put_namespace(ns, {});
    for (const json& item : input["clusterQueues"]) scheduler_.put(read_cluster_queue(item));
    for (const json& item : input["localQueues"]) scheduler_.put(read_local_queue(item));
    if (!input.contains("workloads")) return;
    for (const json& item : input["workloads"]) {
      const WorkloadPtr workload = read_workload(item);
      std::vector<Requests> requests;
      for (const PodSet& pod_set : workload->pod_sets)
        requests.push_back(to_requests(pod_requests(adjusted_resources(*pod_set.pod_template.spec, {}))));
      scheduler_.put(workload, requests, now_);
    }
    scheduler_.follow(now_);
  }

  // One head of each ClusterQueue that has one; their names, sorted.
  std::vector<std::string> pop(const std::string& step) {
    std::vector<std::string> heads;
    const scheduler::Listing listing = scheduler::listing_of(scheduler_.state());
    // A pop of any queue ends what was in flight in all.
    const bool any =
        std::any_of(listing.cluster_queues.begin(), listing.cluster_queues.end(),
                    [&](const scheduler::ListedClusterQueue& queue) { return first_active(queue) != nullptr; });
    if (any) in_flight_.clear();
    for (const scheduler::ListedClusterQueue& queue : listing.cluster_queues) {
      const scheduler::PendingEntry* head = first_active(queue);
      if (head == nullptr) continue;
      heads.push_back(path_of(head->object->meta));
      if (step != "take") continue;
      in_flight_.emplace(queue.object->meta.name, *head);
      scheduler_.remove_workload(head->object->meta.ns, head->object->meta.name);
    }
    // None fits: there is no flavor.
    if (step == "fail") scheduler_.cycle(now_);
    std::sort(heads.begin(), heads.end());
    return heads;
  }

  json answer(const json& request) const {
    QueueListing listed;
    listed.listing = scheduler::listing_of(scheduler_.state());
    for (scheduler::ListedClusterQueue& queue : listed.listing.cluster_queues) {
      const auto away = in_flight_.find(queue.object->meta.name);
      if (away != in_flight_.end()) queue.pending.push_back(away->second);
    }
    for (const json& item : input_["localQueues"]) listed.local_queues.push_back({read_local_queue(item), {}});
    const QueueSnapshot snapshot(std::move(listed));
    const PendingPage page{request["limit"].get<int64_t>(), request["offset"].get<int64_t>()};
    const std::string name = request["name"];
    const auto found =
        request["resource"] == "clusterqueues"
            ? pending_of_cluster_queue(snapshot, "v1beta2", name, page)
            : pending_of_local_queue(snapshot, "v1beta2", request["namespace"].get<std::string>(), name, page);
    if (!found) return {{"error", found.error().message}};
    const json summary = json::parse(*found);
    CHECK(summary["kind"] == "PendingWorkloadsSummary");
    CHECK(summary["apiVersion"] == "visibility.kueue.x-k8s.io/v1beta2");
    return {{"items", summary["items"]}};
  }

 private:
  const scheduler::PendingEntry* first_active(const scheduler::ListedClusterQueue& queue) const {
    const scheduler::PendingEntry* first = nullptr;
    for (const scheduler::PendingEntry& entry : queue.pending) {
      if (scheduler::position_of(scheduler_.state(), entry.object->meta.ns, entry.object->meta.name) !=
          scheduler::QueuePosition::kActive)
        continue;
      if (first == nullptr || scheduler::comes_before(entry, *first)) first = &entry;
    }
    return first;
  }

  const json& input_;
  const Now now_{to_time_point(*parse_rfc3339("2026-01-01T12:00:00Z")), MonotonicTime(std::chrono::hours(1))};
  scheduler::Scheduler scheduler_;
  std::map<std::string, scheduler::PendingEntry> in_flight_;  // by ClusterQueue
};

}  // namespace

TEST_SUITE_BEGIN("vectors");

TEST_CASE("pending positions: every recorded list of the visibility API is equal") {
  size_t answers = 0, steps = 0;
  for (const json& line : muster::test::load_vectors("pending_positions")) {
    INFO(line["id"].get<std::string>());
    const json &input = line["input"], &output = line["output"];
    Replay replay(input);
    for (size_t i = 0; input.contains("steps") && i < input["steps"].size(); ++i, ++steps) {
      const std::vector<std::string> heads = replay.pop(input["steps"][i]);
      const json popped = heads;
      CHECK(popped == output["heads"][i]);
    }
    for (size_t i = 0; i < input["requests"].size(); ++i, ++answers) {
      INFO(input["requests"][i].dump());
      const json answer = replay.answer(input["requests"][i]);
      CHECK(answer == output["responses"][i]);
    }
  }
  CHECK(answers > 0);
  CHECK(steps > 0);
}

TEST_SUITE_END();

}  // namespace pending_workloads_vectors_test
