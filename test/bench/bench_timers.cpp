// One timer of the engine while a million others are pending: set, and gone off. The aim:
// at most a microsecond each, in whatever order they are set.
#include <benchmark/benchmark.h>

#include <random>

#include "engine/work_queue.h"

namespace {

using namespace muster;

constexpr int kPending = 1'000'000;

std::vector<ObjectKey> keys_of_workloads() {
  std::vector<ObjectKey> keys;
  for (int i = 0; i < kPending; ++i)
    keys.push_back({&kWorkloads, "team-a", "job-train-" + std::to_string(i) + "-1a2b3"});
  return keys;
}

// Workloads are admitted one after the other and have the same timeout: the later, the later.
// With jitter they come in no order at all.
std::vector<MonotonicTime> times(bool in_order) {
  std::vector<MonotonicTime> made;
  for (int i = 0; i < kPending; ++i) made.emplace_back(std::chrono::milliseconds(i + 1));
  if (!in_order) std::shuffle(made.begin(), made.end(), std::mt19937_64(7));
  return made;
}

void set_and_fire(benchmark::State& state) {
  const std::vector<ObjectKey> keys = keys_of_workloads();
  const std::vector<MonotonicTime> when = times(state.range(0) != 0);
  for (auto _ : state) {
    engine::WorkQueue requests;
    for (int i = 0; i < kPending; ++i) requests.enqueue_at(keys[i], when[i]);
    size_t fired = 0;
    for (int i = 0; i < kPending; i += 1000)
      fired += requests.take_ready(MonotonicTime(std::chrono::milliseconds(i + 1000))).size();
    if (fired != kPending) state.SkipWithError("a timer was lost");
  }
  state.SetItemsProcessed(state.iterations() * kPending);
}

// One is moved while all others stay: what an event about a Workload that waits costs.
void move_one(benchmark::State& state) {
  const std::vector<ObjectKey> keys = keys_of_workloads();
  const std::vector<MonotonicTime> when = times(false);
  engine::WorkQueue requests;
  for (int i = 0; i < kPending; ++i) requests.enqueue_at(keys[i], when[i]);
  int next = 0;
  for (auto _ : state) {
    requests.enqueue(keys[next]);
    benchmark::DoNotOptimize(requests.take_ready(MonotonicTime()));
    requests.enqueue_at(keys[next], when[next]);
    next = (next + 7919) % kPending;
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(set_and_fire)->ArgName("in_order")->Arg(1)->Arg(0)->Unit(benchmark::kMillisecond);
BENCHMARK(move_one);

}  // namespace

BENCHMARK_MAIN();
