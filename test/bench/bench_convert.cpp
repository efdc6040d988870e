// What it costs to convert one Workload, without sockets: parse, convert, print. The
// bound is 100 µs (docs/benchmarks.md); and what a list of 10,000 costs, each.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/conversion/conversion.h"
#include "server/convert_handler.h"
#include "test/bench/sample_review.h"

namespace {

using namespace muster;
using nlohmann::json;

// An admitted Workload of one Job as v1beta1 stores it, with managedFields as large as a Job's.
json sample_workload() {
  const json job = bench::sample_job();
  json workload = json::parse(R"({
    "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
    "spec": {"queueName": "team-a-queue", "active": true, "priority": 0, "priorityClassName": "high",
      "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"},
    "status": {
      "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 3,
        "flavors": {"cpu": "on-demand", "memory": "on-demand"}, "resourceUsage": {"cpu": "3", "memory": "600Mi"},
        "topologyAssignment": {"levels": ["rack", "kubernetes.io/hostname"], "domains": [
          {"count": 1, "values": ["rack-1", "node-1.internal"]}, {"count": 1, "values": ["rack-1", "node-2.internal"]},
          {"count": 1, "values": ["rack-2", "node-7.internal"]}]}}]},
      "conditions": [
        {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "observedGeneration": 1,
          "message": "Quota reserved in ClusterQueue cq", "lastTransitionTime": "2026-01-02T03:04:05Z"},
        {"type": "Admitted", "status": "True", "reason": "Admitted", "observedGeneration": 1,
          "message": "The workload is admitted", "lastTransitionTime": "2026-01-02T03:04:05Z"},
        {"type": "PodsReady", "status": "False", "reason": "WaitForStart", "observedGeneration": 1,
          "message": "Not all pods are ready or succeeded", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}})");
  workload["metadata"] = job["metadata"];
  workload["metadata"]["ownerReferences"] = json::parse(R"([{"apiVersion": "batch/v1", "kind": "Job",
    "name": "sample-job", "uid": "0a6ee1f0-9d0c-4f0e-8d1b-1d8f2e6a7c11", "controller": true}])");
  workload["spec"]["podSets"] = json::array({{{"name", "main"}, {"count", 3}, {"template", job["spec"]["template"]}}});
  return workload;
}

void convert_workload(benchmark::State& state) {
  const std::string text = to_text(sample_workload());
  for (auto _ : state) {
    auto object = parse_json(text);
    const auto converted = convert_object(*object, QueueVersion::kV1Beta2);
    if (!converted) return state.SkipWithError(converted.error().message.c_str());
    benchmark::DoNotOptimize(to_text(*object));
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}

void parse_and_print(benchmark::State& state) {
  const std::string text = to_text(sample_workload());
  for (auto _ : state) benchmark::DoNotOptimize(to_text(*parse_json(text)));
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}

// As a worker does it for a request, with the envelope and metrics; time is per review.
void handled_review(benchmark::State& state) {
  json objects = json::array();
  for (int64_t i = 0; i < state.range(0); ++i) objects.push_back(sample_workload());
  const json review = {
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "ConversionReview"},
      {"request", {{"uid", "u"}, {"desiredAPIVersion", "kueue.x-k8s.io/v1beta2"}, {"objects", std::move(objects)}}}};
  const std::string body = to_text(review);
  server::Metrics metrics{server::MetricsOptions{}};
  server::ConvertHandler handler(metrics);
  for (auto _ : state) benchmark::DoNotOptimize(handler.convert(body));
  state.SetItemsProcessed(state.range(0) * state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(body.size()) * state.iterations());
}

}  // namespace

BENCHMARK(convert_workload)->Unit(benchmark::kMicrosecond);
BENCHMARK(parse_and_print)->Unit(benchmark::kMicrosecond);
BENCHMARK(handled_review)->Arg(1)->Unit(benchmark::kMicrosecond);
BENCHMARK(handled_review)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();
