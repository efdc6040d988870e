// What a scrape of the queues' metrics costs: the part on the engine's thread, which holds
// everything else up, and all of it. Arguments: Workloads, of which one in fifty has quota,
// and ClusterQueues with one LocalQueue each.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "engine/engine.h"
#include "kinds/watched_kinds.h"
#include "server/metrics/metrics.h"
#include "server/metrics/queue_metrics.h"
#include "state/metrics/queue_gauges.h"

namespace {

using namespace muster;
using nlohmann::json;

constexpr Now kNow{TimePoint(std::chrono::seconds(1'800'000'000)), MonotonicTime(std::chrono::seconds(0))};

void put(engine::Engine& engine, const ResourceType& type, const std::string& name, json object) {
  static int version = 0;
  object["metadata"] = {{"name", name}, {"uid", name}, {"resourceVersion", std::to_string(++version)}};
  if (type.namespaced) object["metadata"]["namespace"] = "team";
  engine.apply(engine::ObjectChanged{read_object(type, object)}, kNow);
}

std::unique_ptr<engine::Engine> cluster_of(int64_t workloads, int64_t queues) {
  engine::EngineSettings settings;
  settings.reconcilers.queues.metrics.cluster_queue_resources = true;
  auto engine = std::make_unique<engine::Engine>(settings);
  for (const WatchedKind& kind : watched_kinds()) engine->apply(engine::KindListed{kind.type, {}}, kNow);
  engine->apply(engine::LeadershipChanged{true}, kNow);
  put(*engine, kNamespaces, "team", json::object());
  put(*engine, kResourceFlavors, "default", json::object());
  const json quotas = {{{"name", "cpu"}, {"nominalQuota", std::to_string(workloads / queues / 50)}},
                       {{"name", "memory"}, {"nominalQuota", "1Ti"}}};
  const json group = {{"coveredResources", {"cpu", "memory"}},
                      {"flavors", {{{"name", "default"}, {"resources", quotas}}}}};
  for (int64_t i = 0; i < queues; ++i) {
    const std::string name = std::to_string(i);
    put(*engine, kClusterQueues, "cluster-queue-" + name,
        {{"spec",
          {{"cohortName", "cohort-" + std::to_string(i / 100)},
           {"namespaceSelector", json::object()},
           {"resourceGroups", {group}}}}});
    put(*engine, kLocalQueues, "local-queue-" + name, {{"spec", {{"clusterQueue", "cluster-queue-" + name}}}});
  }
  const json container = {{"name", "main"}, {"resources", {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}}}};
  for (int64_t i = 0; i < workloads; ++i) {
    put(*engine, kWorkloads, "workload-" + std::to_string(i),
        {{"spec",
          {{"queueName", "local-queue-" + std::to_string(i % queues)},
           {"podSets", {{{"name", "main"}, {"count", 1}, {"template", {{"spec", {{"containers", {container}}}}}}}}}}}});
  }
  engine->plan(kNow);
  return engine;
}

void read_gauges(benchmark::State& state) {
  const auto engine = cluster_of(state.range(0), state.range(1));
  size_t gauges = 0;
  for (auto _ : state) {
    gauges = state::queue_gauges(engine->state(), engine->decisions(), engine->queue_settings()).size();
    benchmark::DoNotOptimize(gauges);
  }
  state.counters["series"] = static_cast<double>(gauges);
}

void scrape(benchmark::State& state) {
  const auto engine = cluster_of(state.range(0), state.range(1));
  server::QueueMetrics queues(true, [&] {
    return GaugeReadings{engine->leads(),
                         state::queue_gauges(engine->state(), engine->decisions(), engine->queue_settings())};
  });
  server::Metrics metrics(server::MetricsOptions{.version = "1", .rules = {}});
  metrics.include(queues.collectable());
  size_t bytes = 0;
  for (auto _ : state) {
    bytes = metrics.expose().size();
    benchmark::DoNotOptimize(bytes);
  }
  state.counters["bytes"] = static_cast<double>(bytes);
}

BENCHMARK(read_gauges)->Args({1000, 10})->Args({50000, 10})->Args({50000, 1000})->Unit(benchmark::kMillisecond);
BENCHMARK(scrape)->Args({1000, 10})->Args({50000, 1000})->Unit(benchmark::kMillisecond);

// One Workload's admission, as the engine's thread pays for it.
void record(benchmark::State& state) {
  server::QueueMetrics queues(true, [] { return std::nullopt; });
  const Measurement admitted{.what = Measured::kAdmitted,
                             .cluster_queue = "cluster-queue-1",
                             .ns = "team",
                             .local_queue = "local-queue-1",
                             .cohorts = {"cohort-1"},
                             .seconds = 3};
  for (auto _ : state) queues.record(admitted);
}
BENCHMARK(record);

// The end and the beginning of an admission in one namespace among many, as chargeback pays for it.
void charge(benchmark::State& state) {
  state::ClusterState cluster;
  state::ResourceSeconds counted(true);
  counted.begin(kNow.monotonic);
  const auto change = [&](const ResourceType& type, json object, const std::string& name, const std::string& ns) {
    static int version = 0;
    object["metadata"] = {{"name", name}, {"uid", name}, {"resourceVersion", std::to_string(++version)}};
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    const auto changed = cluster.put(read_object(type, object));
    counted.note(changed->before ? &*changed->before : nullptr, changed->after, cluster, kNow.monotonic);
    return *changed->after;
  };
  const json group = {{"coveredResources", {"cpu", "memory"}}, {"flavors", json::array()}};
  change(kResourceFlavors, json::object(), "f", "");
  change(kClusterQueues, {{"spec", {{"resourceGroups", {group}}}}}, "q", "");
  const json conditions = {{{"type", "QuotaReserved"}, {"status", "True"}}, {{"type", "Admitted"}, {"status", "True"}}};
  const json assignment = {{"name", "main"},
                           {"flavors", {{"cpu", "f"}, {"memory", "f"}}},
                           {"resourceUsage", {{"cpu", "1"}, {"memory", "1Gi"}}},
                           {"count", 1}};
  const json admitted = {
      {"spec", {{"queueName", "lq"}, {"podSets", {{{"name", "main"}, {"count", 1}}}}}},
      {"status",
       {{"conditions", conditions}, {"admission", {{"clusterQueue", "q"}, {"podSetAssignments", {assignment}}}}}}};
  TypedObject last;
  for (int64_t i = 0; i < state.range(0); ++i) {
    const std::string ns = "team-" + std::to_string(i);
    change(kLocalQueues, {{"spec", {{"clusterQueue", "q"}}}}, "lq", ns);
    last = change(kWorkloads, admitted, "w", ns);
  }
  for (auto _ : state) {
    counted.note(&last, nullptr, cluster, kNow.monotonic);
    counted.note(nullptr, &last, cluster, kNow.monotonic);
  }
  state.counters["series"] = static_cast<double>(counted.kept());
}
BENCHMARK(charge)->Arg(10)->Arg(1000);

}  // namespace

BENCHMARK_MAIN();
