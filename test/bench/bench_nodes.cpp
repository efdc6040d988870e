// What it costs to know nodes and their pods (watchNodes): memory, time for an event, and time for one question.
//
//   build/bench/bench_nodes [NODES] [PODS]   5000 and 150000 by default
//
// docs/benchmarks.md has the table. An event is timed from the text of the API server to the table of nodes.
#include <time.h>
#include <unistd.h>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/workload.h"
#include "engine/loop/node_feed.h"
#include "scheduler/nodes/node_capacity.h"
#include "test/bench/process_usage.h"

namespace {

using namespace muster;
using nlohmann::json;

constexpr int kEvents = 20'000;
constexpr int kEventsPerSecond = 200;
constexpr int kQuestions = 1000;

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::string uid_of(int number) {
  char text[40];
  std::snprintf(text, sizeof text, "%08x-0000-4000-8000-%012x", static_cast<unsigned>(number) * 2654435761U,
                static_cast<unsigned>(number));
  return text;
}

// With the labels of a cloud's node.
std::string node_text(int number) {
  const std::string name = "ip-10-" + std::to_string(number / 250) + "-" + std::to_string(number % 250) + ".internal";
  json labels = {{"kubernetes.io/hostname", name}, {"kubernetes.io/os", "linux"}, {"pool", "gpu"}};
  for (const char* key : {"topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/arch",
                          "node.kubernetes.io/instance-type", "cloud.example/nodegroup", "cloud.example/rack"})
    labels[key] = "value-" + std::to_string(number % 40);
  return json{{"metadata", {{"name", name}, {"labels", labels}}},
              {"status",
               {{"allocatable", {{"cpu", "96"}, {"memory", "768Gi"}, {"pods", "110"}, {"nvidia.com/gpu", "8"}}},
                {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}}
      .dump();
}

// One of ten belongs to a Workload of ten pods.
std::string pod_text(int number, int nodes) {
  const int node = number % nodes;
  json pod = {
      {"metadata",
       {{"name", "pod-" + std::to_string(number)},
        {"namespace", "team-" + std::to_string(number % 50)},
        {"uid", uid_of(number)},
        {"labels", {{"app", "app-" + std::to_string(number % 500)}}}}},
      {"spec",
       {{"nodeName", "ip-10-" + std::to_string(node / 250) + "-" + std::to_string(node % 250) + ".internal"},
        {"containers",
         json::array(
             {{{"name", "main"},
               {"image", "registry.example/image:1"},
               {"resources",
                {{"requests", {{"cpu", std::to_string(100 * (1 + number % 8)) + "m"}, {"memory", "1Gi"}}}}}}})}}},
      {"status", {{"phase", "Running"}}}};
  if (number % 10 == 0) {
    pod["metadata"]["annotations"]["kueue.x-k8s.io/workload"] = "job-train-" + std::to_string(number / 100);
    pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] = "main";
  }
  return pod.dump();
}

struct Watched {
  scheduler::NodeTable table{};
  engine::NodeFeed nodes{scheduler::NodePart::kNodes, false}, pods{scheduler::NodePart::kPods, false};

  void take(engine::NodeFeed& feed, const std::string& text) {
    const auto seen = feed.seen(*parse_json(text));
    if (*seen) table.take((*seen)->news);
  }
};

void list(Watched& watched, int nodes, int pods) {
  watched.table.take(watched.nodes.begin_list().news);
  for (int i = 0; i < nodes; ++i) watched.take(watched.nodes, node_text(i));
  watched.table.take(watched.nodes.end_list().news);
  watched.table.take(watched.pods.begin_list().news);
  for (int i = 0; i < pods; ++i) watched.take(watched.pods, pod_text(i, nodes));
  watched.table.take(watched.pods.end_list().news);
}

// A pod ends, another one gets its node; a kubelet's heartbeat changes nothing.
void time_events(Watched& watched, int nodes, int pods) {
  std::vector<std::string> texts;
  for (int i = 0; i < kEvents; ++i) texts.push_back(pod_text(pods + i, nodes));
  const double began = cpu_seconds();
  for (const std::string& text : texts) watched.take(watched.pods, text);
  const double event = (cpu_seconds() - began) / kEvents;
  const std::string beat = node_text(7);
  const double beats = cpu_seconds();
  for (int i = 0; i < kEvents; ++i) watched.take(watched.nodes, beat);
  std::printf("event of a pod           %8.1f us   at %d a second %.2f %% of a core\n", event * 1e6, kEventsPerSecond,
              event * kEventsPerSecond * 100);
  std::printf("heartbeat of a node      %8.1f us\n", (cpu_seconds() - beats) / kEvents * 1e6);
}

// 64 pods of 8 GPUs, of Workloads that hold nothing yet.
void time_questions(Watched& watched) {
  const auto flavor =
      read_resource_flavor({{"metadata", {{"name", "gpu"}, {"annotations", {{"muster.batch/fit-on-nodes", "true"}}}}},
                            {"spec", {{"nodeLabels", {{"pool", "gpu"}}}}}});
  scheduler::NodeCapacity capacity(watched.table, [](const Workload&, const PodSet&) {
    return Requests{{"cpu", 8000}, {"nvidia.com/gpu", 8}};
  });
  capacity.put(flavor);
  Workload workload;
  PodSet pod_set;
  pod_set.name = "main";
  pod_set.pod_template = read_pod_template({{"spec", {{"containers", json::array({{{"name", "c"}}})}}}});
  const scheduler::CapacityUses none;
  double longest = 0;
  const double began = cpu_seconds();
  for (int i = 0; i < kQuestions; ++i) {
    const double before = cpu_seconds();
    (void)capacity.assign({workload, pod_set, 64, "gpu", none, none});
    longest = std::max(longest, cpu_seconds() - before);
  }
  std::printf("one question             %8.1f us   longest %.1f us\n", (cpu_seconds() - began) / kQuestions * 1e6,
              longest * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5000, pods = argc > 2 ? std::atoi(argv[2]) : 150'000;
  Watched watched;
  const double before = bench::resident_mib(getpid()), began = cpu_seconds();
  list(watched, nodes, pods);
  const double mib = bench::resident_mib(getpid()) - before;
  std::printf("%d nodes, %d pods: %.1f MiB, %.0f bytes for a pod, listed in %.1f s of CPU\n", nodes, pods, mib,
              mib * 1024 * 1024 / pods, cpu_seconds() - began);
  time_events(watched, nodes, pods);
  time_questions(watched);
  return 0;
}
