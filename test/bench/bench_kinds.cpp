// What jobs of a described kind cost in memory beside their Workloads: RayJobs of one manifest with a head, a group of
// workers and a submitter, each with its own name and labels, as the engine's state holds them.
//
//   bench_kinds 10000 3072      number of jobs; exit code 1 above this many bytes for each
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "kinds/kind_description.h"
#include "state/cluster_state.h"

using namespace muster;
using nlohmann::json;

namespace {

double resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) * 1024;
  }
  return 0;
}

json ray_job(int number) {
  const json pod = {
      {"spec",
       {{"containers",
         {{{"name", "ray"},
           {"image", "registry.example/ray:2.40"},
           {"args", {"--verbose"}},
           {"env", {{{"name", "A"}, {"value", "1"}}}},
           {"resources",
            {{"requests", {{"cpu", "4"}, {"memory", "16Gi"}}}, {"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}}};
  const std::string name = "train-" + std::to_string(number);
  return {{"apiVersion", "ray.io/v1"},
          {"kind", "RayJob"},
          {"metadata",
           {{"name", name},
            {"namespace", "team-" + std::to_string(number % 50)},
            {"uid", "0c1d9a7e-0000-4000-8000-" + std::to_string(100000000000 + number)},
            {"resourceVersion", std::to_string(1000 + number)},
            {"labels", {{"kueue.x-k8s.io/queue-name", "main"}, {"app", name}}}}},
          {"spec",
           {{"suspend", false},
            {"submissionMode", "K8sJobMode"},
            {"entrypoint", "python train.py"},
            {"shutdownAfterJobFinishes", true},
            {"submitterPodTemplate", pod},
            {"rayClusterSpec",
             {{"headGroupSpec", {{"rayStartParams", {{"dashboard-host", "0.0.0.0"}}}, {"template", pod}}},
              {"workerGroupSpecs",
               {{{"groupName", "workers"},
                 {"replicas", 8},
                 {"minReplicas", 8},
                 {"maxReplicas", 8},
                 {"rayStartParams", {{"num-gpus", "1"}}},
                 {"template", pod}}}}}}}},
          {"status",
           {{"jobDeploymentStatus", "Running"}, {"jobStatus", "RUNNING"}, {"rayClusterStatus", {{"state", "ready"}}}}}};
}

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 10000;
  const double most = argc > 2 ? std::atof(argv[2]) : 3072;
  const ResourceType& type = find_described_kind("ray.io", "RayJob")->type();
  state::ClusterState state;
  for (int i = 0; i < 200; ++i) state.put(read_object(type, ray_job(-1 - i)));
  const double before = resident_bytes();
  for (int i = 0; i < jobs; ++i) state.put(read_object(type, ray_job(i)));
  const double each = (resident_bytes() - before) / jobs;
  std::printf("| RayJobs of 3 pod sets | bytes for each |\n|---|---|\n| %d | %.0f |\n", jobs, each);
  return each <= most ? 0 : 1;
}
