// What `muster simulate` costs: a week of random jobs over many ClusterQueues in cohorts of ten, from templates,
// without files. Prints seconds, microseconds for each Workload and each step, and the memory at its peak.
//
//   build/bench/bench_simulate [WORKLOADS] [CLUSTERQUEUES] [LOAD]    1000000, 1000 and 0.9 by default
//
// LOAD is the share of all quota that the jobs need; above 1 the queues grow to the end.
// docs/benchmarks.md has the table.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/constants.h"
#include "forecast/job_shapes.h"
#include "forecast/run.h"
#include "forecast/scenario_reader.h"
#include "forecast/summary.h"
#include "jobs/job_kind.h"
#include "scheduler/eligibility.h"

namespace {

using namespace muster;
using nlohmann::json;

constexpr double kWeek = 7 * 24 * 3600.0;

struct Sort {
  const char* name;
  int pods;
  double weight;
  const char* priority;
};
constexpr Sort kSorts[] = {{"small", 1, 7, "low"}, {"medium", 5, 2, "middle"}, {"large", 20, 1, "high"}};
// Cpus of a Workload, on average.
constexpr double kMeanPods = (1 * 7 + 5 * 2 + 20 * 1) / 10.0;
constexpr int kQuota = 20;

std::vector<forecast::SourceObject> objects(int queues, double run_seconds) {
  std::vector<forecast::SourceObject> all;
  const auto add = [&](json object) { all.push_back({"bench", std::move(object)}); };
  add({{"apiVersion", kResourceFlavors.api_version}, {"kind", "ResourceFlavor"}, {"metadata", {{"name", "f"}}}});
  for (const auto& [name, value] : {std::pair("low", 10), {"middle", 100}, {"high", 1000}})
    add({{"apiVersion", kWorkloadPriorityClasses.api_version},
         {"kind", kWorkloadPriorityClasses.kind},
         {"metadata", {{"name", name}}},
         {"value", value}});
  for (int i = 0; i < queues; ++i) {
    const std::string name = "q" + std::to_string(i);
    const json quota = {{"name", "cpu"}, {"nominalQuota", std::to_string(kQuota)}};
    const json flavor = {{"name", "f"}, {"resources", json::array({quota})}};
    add({{"apiVersion", kClusterQueues.api_version},
         {"kind", "ClusterQueue"},
         {"metadata", {{"name", name}}},
         {"spec",
          {{"cohortName", "c" + std::to_string(i / 10)},
           {"namespaceSelector", json::object()},
           {"preemption", {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}}},
           {"resourceGroups", json::array({{{"coveredResources", {"cpu"}}, {"flavors", json::array({flavor})}}})}}}});
    add({{"apiVersion", kLocalQueues.api_version},
         {"kind", "LocalQueue"},
         {"metadata", {{"name", name}, {"namespace", "default"}}},
         {"spec", {{"clusterQueue", name}}}});
    for (const Sort& sort : kSorts) {
      json manifest = forecast::to_manifest({.ns = "default",
                                             .queue = name,
                                             .name = std::string(sort.name) + "-" + name,
                                             .priority_class = sort.priority,
                                             .count = sort.pods,
                                             .requests = {{"cpu", "1"}}});
      manifest["metadata"]["annotations"] = {{"simulate.muster.batch/weight", std::to_string(sort.weight)},
                                             {"simulate.muster.batch/run-time", std::to_string(run_seconds)}};
      add(std::move(manifest));
    }
  }
  return all;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const auto workloads = static_cast<uint32_t>(argc > 1 ? std::atoi(argv[1]) : 1'000'000);
  const int queues = argc > 2 ? std::atoi(argv[2]) : 1000;
  const double load = argc > 3 ? std::atof(argv[3]) : 0.9;
  constexpr double kSpread = 0.8;
  // The mean of a log-normal distribution of median 1 is exp(spread^2 / 2).
  const double mean = load * kQuota * queues * kWeek / (workloads * kMeanPods);
  const double median = mean / 1.3771277643359572;
  forecast::ScenarioOptions options;
  options.seed = 1;
  options.random =
      forecast::RandomArrivals{.seed = 1,
                               .jobs = workloads,
                               .over = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(kWeek)),
                               .spread = kSpread};
  const auto reading = std::chrono::steady_clock::now();
  auto read = forecast::read_scenario(objects(queues, median), options);
  if (!read) {
    std::fprintf(stderr, "%s\n", read.error().message.c_str());
    return 1;
  }
  const double read_seconds = since(reading);
  const auto running = std::chrono::steady_clock::now();
  const forecast::History history = forecast::run(read->scenario);
  const double seconds = since(running);
  const forecast::Summary summary = forecast::summarize(read->scenario, history);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%u Workloads, %d ClusterQueues, load %.2f: read %.1f s, run %.1f s, %llu steps, %.1f us per step, %.1f us per "
      "Workload, %.0f MiB; %zu finished, %zu evictions, at most %zu waited, wait p99 %.0f s\n",
      workloads, queues, load, read_seconds, seconds, static_cast<unsigned long long>(history.steps),
      1e6 * seconds / static_cast<double>(history.steps), 1e6 * seconds / workloads,
      static_cast<double>(usage.ru_maxrss) / 1024, summary.finished, summary.evictions, summary.most_pending,
      summary.waits.p99);
  return 0;
}
