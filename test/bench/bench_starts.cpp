// Estimates of starts: what they cost with many pending Workloads, and how often they are right on a replayed day.
//
//   build/bench/bench_starts cost [WORKLOADS] [CLUSTERQUEUES] [CPUS]   10000, 10 and 200 of each by default
//   build/bench/bench_starts day [SEED] [LOAD] [COURSES]               1, 1.0 and 19 by default
//
// docs/benchmarks.md has the tables.
#include <time.h>

#include <cstdlib>
#include <cstring>

#include "state/scheduler_driver.h"
#include "test/forecast/starts/replayed_day.h"

namespace {

using namespace muster;
using nlohmann::json;

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

struct QueuedCluster {
  state::ClusterState state;
  state::SchedulerDriver decisions{QueueSettings()};
};

void put(QueuedCluster& cluster, const ResourceType& type, const json& object) {
  const TypedObject typed = read_object(type, object);
  cluster.state.put_watched(typed);
  const ObjectKey key = key_of(typed);
  cluster.decisions.put(*cluster.state.find(type, key.ns, key.name), cluster.state, system_clock().now());
}

json meta(const std::string& name, const std::string& ns, int version) {
  json made = {{"name", name},
               {"uid", name + ns},
               {"resourceVersion", std::to_string(version)},
               {"creationTimestamp", "2026-01-01T00:00:00Z"}};
  if (!ns.empty()) made["namespace"] = ns;
  return made;
}

// Full quota, and this many Workloads of 1, 5 and 20 CPUs that wait. ClusterQueues are in Cohorts of ten.
void fill(QueuedCluster& cluster, int count, int queues, int cpus) {
  int version = 1;
  put(cluster, kResourceFlavors, {{"metadata", meta("f", "", ++version)}});
  put(cluster, kNamespaces, {{"metadata", meta("ns", "", ++version)}});
  for (int i = 0; i < queues; ++i) {
    const std::string name = "q" + std::to_string(i);
    const json quota = {{"name", "cpu"}, {"nominalQuota", std::to_string(cpus)}};
    const json flavor = {{"name", "f"}, {"resources", json::array({quota})}};
    put(cluster, kClusterQueues,
        {{"metadata", meta(name, "", ++version)},
         {"spec",
          {{"cohortName", "c" + std::to_string(i / 10)},
           {"namespaceSelector", json::object()},
           {"resourceGroups", json::array({{{"coveredResources", {"cpu"}}, {"flavors", json::array({flavor})}}})}}}});
    put(cluster, kLocalQueues, {{"metadata", meta(name, "ns", ++version)}, {"spec", {{"clusterQueue", name}}}});
  }
  int used = 0;
  for (int i = 0, waiting = 0; waiting < count; ++i) {
    const int size = i % 10 < 7 ? 1 : i % 10 < 9 ? 5 : 20;
    const bool runs = used + size <= queues * cpus;
    const std::string queue = "q" + std::to_string(i % queues);
    json workload = {
        {"metadata", meta("job-" + std::to_string(i), "ns", ++version)},
        {"spec",
         {{"queueName", queue},
          {"podSets",
           {{{"name", "main"},
             {"count", size},
             {"template",
              {{"spec", {{"containers", {{{"name", "main"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}}}}}}}}};
    if (runs) {
      used += size;
      workload["status"] = {{"admission",
                             {{"clusterQueue", queue},
                              {"podSetAssignments",
                               {{{"name", "main"},
                                 {"count", size},
                                 {"flavors", {{"cpu", "f"}}},
                                 {"resourceUsage", {{"cpu", std::to_string(size)}}}}}}}},
                            {"conditions", json::array({{{"type", "QuotaReserved"},
                                                         {"status", "True"},
                                                         {"reason", "QuotaReserved"},
                                                         {"lastTransitionTime", "2026-01-01T00:00:00Z"}},
                                                        {{"type", "Admitted"},
                                                         {"status", "True"},
                                                         {"reason", "Admitted"},
                                                         {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}};
    } else {
      ++waiting;
    }
    put(cluster, kWorkloads, workload);
  }
  cluster.decisions.follow(system_clock().now());
}

int cost(int workloads, int queues, int cpus, double budget) {
  QueuedCluster cluster;
  fill(cluster, workloads, queues, cpus);
  starts::QueueHistory history;
  forecast::Chance chance(1);
  for (int i = 0; i < queues * 64; ++i)
    history.run_times.note({.local_queue = "ns/q" + std::to_string(i % queues),
                            .cluster_queue = "q" + std::to_string(i % queues),
                            .shape = 0,
                            .seconds = 600 * std::exp(0.8 * chance.normal())});
  const Now now{TimePoint(std::chrono::seconds(1'767'225'900)), MonotonicTime(std::chrono::hours(1000))};
  const double before = cpu_seconds();
  const starts::StartScene scene = starts::take_start_scene(cluster.state, cluster.decisions, {}, false, now);
  const double taken = cpu_seconds();
  // All that wait came within the last hour, and as many come in the next one.
  history.arrivals.begin(to_timestamp(now.wall - std::chrono::hours(1)));
  scene.for_each_workload(
      [&](const WorkloadPtr& workload) { history.arrivals.note(workload, to_timestamp(now.wall)); });
  const double observed = cpu_seconds();
  size_t courses = 0;
  starts::EstimateOptions options{.most_workloads = 20'000};
  if (budget > 0) {
    options.cpu_seconds = cpu_seconds;
    options.budget = budget;
  }
  options.made = &courses;
  const StartEstimates estimates = starts::estimate_starts(scene, history, {}, options);
  const double made = cpu_seconds();
  std::map<std::string, size_t> outcomes;
  for (const auto& [path, estimate] : estimates.by_path) ++outcomes[std::string(to_text(estimate.outcome))];
  std::printf("%d pending, %d ClusterQueues of %d CPUs: engine's thread %.2f ms; %zu courses, %.2f s, %.3f s each;",
              workloads, queues, cpus, 1e3 * (taken - before), courses, made - observed,
              (made - observed) / static_cast<double>(std::max<size_t>(1, courses)));
  for (const auto& [outcome, count] : outcomes) std::printf(" %s %zu", outcome.c_str(), count);
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int place, double otherwise) { return argc > place ? std::atof(argv[place]) : otherwise; };
  if (argc > 1 && std::strcmp(argv[1], "day") == 0) {
    muster::test::ReplayedDay day(static_cast<uint64_t>(number(2, 1)), number(3, 1),
                                  static_cast<size_t>(number(4, 19)));
    muster::test::print(day.play());
    return 0;
  }
  return cost(static_cast<int>(number(2, 10'000)), static_cast<int>(number(3, 10)), static_cast<int>(number(4, 200)),
              number(5, 2));
}
