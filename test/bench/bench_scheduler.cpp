// Admission decisions of the scheduler alone, without I/O: quota is full, a Workload finishes,
// a new one arrives, and whoever fits now is admitted. Arguments: Workloads that wait,
// ClusterQueues (in Cohorts of up to 100 that lend to each other), and shapes of Workloads:
// 3 as in Kueue's benchmark, or 0 for a different one for each Workload, which is the worst case.
// The aim: the cost per decision grows at most with the logarithm of what waits.
#include <benchmark/benchmark.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "scheduler/scheduler.h"
#include "scheduler/views/explanation.h"

namespace {

using namespace muster;

constexpr Now kNow{TimePoint(std::chrono::seconds(1'800'000'000)), MonotonicTime(std::chrono::seconds(0))};

ResourceGroup cpu_quota() {
  return {.covered_resources = {"cpu"},
          .flavors = {{.name = "default",
                       .resources = {{.name = "cpu",
                                      .nominal = Quantity::of(20),
                                      .borrowing_limit = Quantity::of(100),
                                      .lending_limit = {}}}}}};
}

class Cluster {
 public:
  Cluster(int64_t queues, int64_t shapes) : queues_(queues), shapes_(shapes) {
    ResourceFlavor flavor;
    flavor.meta.name = "default";
    scheduler_.put(std::make_shared<const ResourceFlavor>(flavor));
    scheduler_.put_namespace("ns", {});
    for (int64_t i = 0; i < queues; ++i) {
      ClusterQueue queue;
      queue.meta.name = "cq-" + std::to_string(i);
      queue.cohort = "cohort-" + std::to_string(i % std::max<int64_t>(1, queues / 100));
      queue.resource_groups = {cpu_quota()};
      queue.namespace_selector = LabelSelector::everything();
      scheduler_.put(std::make_shared<const ClusterQueue>(queue));
      LocalQueue local;
      local.meta.ns = "ns";
      local.meta.name = "lq-" + std::to_string(i);
      local.cluster_queue = queue.meta.name;
      scheduler_.put(std::make_shared<const LocalQueue>(local));
    }
  }

  void arrive() {
    static const PodSpecPtr spec =
        std::make_shared<const PodSpec>(nlohmann::json{{"containers", nlohmann::json::array()}});
    const int64_t id = next_++;
    Workload workload;
    workload.meta.ns = "ns";
    workload.meta.name = workload.meta.uid = "wl-" + std::to_string(id);
    workload.meta.created = {1'700'000'000 + id, 0};
    workload.queue_name = "lq-" + std::to_string(id % queues_);
    PodSet pod_set;
    pod_set.name = "main";
    pod_set.pod_template.spec = spec;
    workload.pod_sets.push_back(std::move(pod_set));
    constexpr int64_t kSizes[] = {1000, 5000, 20000};  // small, medium, large: as in Kueue's benchmark
    const int64_t request = shapes_ == 0 ? 1000 + (id * 7919) % 1'000'003 % 19000 : kSizes[(id / queues_ * 7) % 10 / 4];
    scheduler_.put(std::make_shared<const Workload>(std::move(workload)), {{{"cpu", request}}}, kNow);
  }

  // How many were admitted.
  size_t drain() {
    size_t count = 0;
    for (const scheduler::Decision& decision : scheduler_.drain(kNow)) {
      if (const auto* admitted = std::get_if<scheduler::Admitted>(&decision)) {
        running_.push_back(admitted->workload->meta.name);
        ++count;
      }
    }
    return count;
  }

  void finish_oldest() {
    scheduler_.remove_workload("ns", running_.front());
    running_.pop_front();
  }

  // Of the one that came last, so that all of its queue are ahead of it.
  size_t explain_last() const {
    const auto told = scheduler::explain_pending(scheduler_.state(), "ns", "wl-" + std::to_string(next_ - 1));
    return told ? told->position : 0;
  }

 private:
  scheduler::Scheduler scheduler_;
  int64_t queues_, shapes_, next_ = 0;
  std::deque<std::string> running_;
};

void admissions(benchmark::State& state) {
  const int64_t pending = state.range(0), queues = state.range(1);
  Cluster cluster(queues, state.range(2));
  // Some run at first, about three in each queue.
  for (int64_t i = 0; i < pending + 3 * queues; ++i) cluster.arrive();
  cluster.drain();
  size_t admitted = 0;
  for (auto _ : state) {
    cluster.finish_oldest();
    cluster.arrive();
    admitted += cluster.drain();
  }
  state.counters["admissions/s"] = benchmark::Counter(static_cast<double>(admitted), benchmark::Counter::kIsRate);
}

// What a question costs the engine.
void explanations(benchmark::State& state) {
  Cluster cluster(state.range(1), state.range(2));
  for (int64_t i = 0; i < state.range(0); ++i) cluster.arrive();
  cluster.drain();
  for (auto _ : state) benchmark::DoNotOptimize(cluster.explain_last());
}

}  // namespace

BENCHMARK(explanations)
    ->ArgNames({"pending", "queues", "shapes"})
    ->ArgsProduct({{1'000, 50'000}, {1}, {0, 3}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(admissions)
    ->ArgNames({"pending", "queues", "shapes"})
    ->ArgsProduct({{1'000, 10'000, 100'000}, {10, 100, 1'000}, {3}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(admissions)
    ->ArgNames({"pending", "queues", "shapes"})
    ->ArgsProduct({{1'000, 10'000, 100'000}, {10, 100, 1'000}, {0}})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_MAIN();
