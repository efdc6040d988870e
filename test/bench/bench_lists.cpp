// What lists and explanations cost with 50,000 pending Workloads: the step on the engine's thread, sorting on the
// reader's, and a first page as readers get it, for some seconds, with a snapshot that is shared for one; and an answer
// of `muster explain` about one of them, which is found on the engine's thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "explain/explain.h"
#include "explain/lists/pending_workloads.h"
#include "explain/lists/workload_list.h"
#include "runtime/readers/queue_lists.h"
#include "test/bench/pending_cluster.h"

using namespace muster;

namespace {

double milliseconds_since(MonotonicTime begin) {
  return std::chrono::duration<double, std::milli>(system_clock().now().monotonic - begin).count();
}

void print(const char* what, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("%-44s p50 %7.2f ms   p99 %7.2f ms   max %7.2f ms   (%zu)\n", what, at(0.5), at(0.99), times.back(),
              times.size());
}

// Each of another Workload, from the first of its queue to the last.
std::vector<double> explain_times(const bench::PendingCluster& cluster, int count) {
  const ReconcilerSettings settings;
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) {
    const int job = static_cast<int>(static_cast<int64_t>(i) * count / 100);
    const ObjectKey key{&kWorkloads, "team-" + std::to_string(job % 100),
                        "job-" + std::to_string(static_cast<int64_t>(job) * 7919 % count)};
    const MonotonicTime begin = system_clock().now().monotonic;
    const ExplainReply reply =
        explain::explain(key, {cluster.state, cluster.decisions, settings, system_clock().now()}, true);
    times.push_back(milliseconds_since(begin));
    if (!reply.order || reply.order->pending != count) return {};
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 50'000;
  const int seconds = argc > 2 ? std::atoi(argv[2]) : 10;
  bench::PendingCluster cluster;
  bench::fill(cluster, count);
  std::vector<double> taken, sorted, pages, visible, whole;
  for (int i = 0; i < 20; ++i) {
    const MonotonicTime begin = system_clock().now().monotonic;
    explain::QueueListing listed =
        explain::take_queue_listing(cluster.state, cluster.decisions, true, system_clock().now());
    taken.push_back(milliseconds_since(begin));
    const MonotonicTime sorting = system_clock().now().monotonic;
    const explain::QueueSnapshot snapshot(std::move(listed));
    sorted.push_back(milliseconds_since(sorting));
    const MonotonicTime all = system_clock().now().monotonic;
    const auto everything = explain::pending_of_cluster_queue(snapshot, "v1beta2", "cq", {.limit = 100'000});
    whole.push_back(milliseconds_since(all));
    if (!everything || everything->size() < static_cast<size_t>(count) * 100) return 1;
  }
  // Readers one after the other, each as soon as the last one is answered, with pauses of 1 ms.
  const auto take = [&] {
    return std::optional(explain::take_queue_listing(cluster.state, cluster.decisions, true, system_clock().now()));
  };
  runtime::SharedSnapshot shared(take, system_clock());
  const MonotonicTime end = system_clock().now().monotonic + std::chrono::seconds(seconds);
  while (system_clock().now().monotonic < end) {
    const MonotonicTime begin = system_clock().now().monotonic;
    const auto list = explain::workload_list(*shared.get(), {});
    if (!list || (*list)["items"].size() != 500 || list->dump().empty()) return 1;
    pages.push_back(milliseconds_since(begin));
    const MonotonicTime second = system_clock().now().monotonic;
    if (!explain::pending_of_cluster_queue(*shared.get(), "v1beta2", "cq", {.limit = 500})) return 1;
    visible.push_back(milliseconds_since(second));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::vector<double> explained = explain_times(cluster, count);
  if (explained.empty()) return 1;
  std::printf("%d pending Workloads in one ClusterQueue, 100 LocalQueues\n", count);
  print("engine's thread: pointers and numbers", taken);
  print("reader's thread: sort and number", sorted);
  print("first page of 500 Workloads, snapshot shared", pages);
  print("visibility API, first 500", visible);
  print("visibility API, all of them at once", whole);
  print("engine's thread: explain one, with the order", explained);
  return 0;
}
