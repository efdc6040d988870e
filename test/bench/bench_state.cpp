// What a Workload costs in the state of the engine: memory, the time to put it there, and the time to put a newer
// version, with an admission, in its place. Without indexes, and with all indexes of Workloads and over all kinds.
//
//   bench_state [WORKLOADS]       50,000 by default
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/workload.h"
#include "explain/workload_indexes.h"
#include "reconcilers/job/job_indexes.h"
#include "state/cluster_state.h"
#include "state/index/indexes.h"

namespace {

// Bytes of the heap that are in use, as the allocator counts them. One thread.
bool counting = false;
long long bytes_in_use = 0;

}  // namespace

void* operator new(size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  if (counting) bytes_in_use += static_cast<long long>(malloc_usable_size(memory));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (counting) bytes_in_use -= static_cast<long long>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}

namespace {

using namespace muster;
using nlohmann::json;

constexpr int kQueues = 1000;
constexpr int kRounds = 5;
constexpr int kBatch = 500;

// The CPU time of this thread: other work on the machine does not count.
double cpu_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Of a Job of one pod; a third of all Workloads have the same pod.
json workload(int number, int version) {
  const std::string name = "job-train-" + std::to_string(number), queue = std::to_string(number % kQueues);
  const std::string cpu = std::to_string(1 + number % 3);
  const std::string uid = "4000-8000-" + std::to_string(100000000000 + number);
  const json container = {
      {"name", "c"}, {"image", "registry.example/train:1.0"}, {"resources", {{"requests", {{"cpu", cpu}}}}}};
  json made = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
               {"kind", "Workload"},
               {"metadata",
                {{"name", name},
                 {"namespace", "team-" + std::to_string(number % 50)},
                 {"uid", "0c1d9a7e-0000-" + uid},
                 {"resourceVersion", std::to_string(version * 1'000'000 + number + 1)},
                 {"creationTimestamp", "2026-01-02T03:04:05Z"},
                 {"finalizers", {"kueue.x-k8s.io/resource-in-use"}},
                 {"labels", {{"kueue.x-k8s.io/job-uid", "7be1c3d2-0000-" + uid}}},
                 {"ownerReferences",
                  {{{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"name", "train-" + std::to_string(number)},
                    {"uid", "7be1c3d2-0000-" + uid},
                    {"controller", true}}}}}},
               {"spec",
                {{"active", true},
                 {"queueName", "lq-" + queue},
                 {"priority", 100},
                 {"podSets",
                  {{{"name", "main"},
                    {"count", 1},
                    {"template", {{"spec", {{"containers", {container}}, {"restartPolicy", "Never"}}}}}}}}}}};
  if (version == 0) return made;
  const auto condition = [](const char* type, const char* message) {
    return json{{"type", type},
                {"status", "True"},
                {"reason", type},
                {"message", message},
                {"lastTransitionTime", "2026-01-02T03:04:06Z"}};
  };
  made["status"] = {
      {"conditions", {condition("QuotaReserved", "Quota reserved"), condition("Admitted", "The workload is admitted")}},
      {"admission",
       {{"clusterQueue", "cq-" + queue},
        {"podSetAssignments",
         {{{"name", "main"}, {"count", 1}, {"flavors", {{"cpu", "default"}}}, {"resourceUsage", {{"cpu", cpu}}}}}}}}};
  return made;
}

// An index exists from the first question on.
void make_indexes(const state::ClusterState& state) {
  for (const auto* index : {&state::kWorkloadsByOwner, &state::kWorkloadsByQueue, &state::kWorkloadsByClusterQueue,
                            &state::kWorkloadsByServingSet, &explain::kWorkloadsByUid, &explain::kVictimsByPreemptor})
    state.by(*index, {"", ""});
  for (const auto* index :
       {&reconcilers::kPartsByDescribedJob, &reconcilers::kJobsByPrebuiltWorkload, &reconcilers::kDescribedJobsByKind})
    state.by(*index, {"", ""});
}

// Of one Workload.
struct Cost {
  double bytes, nanoseconds;
};

// Puts a version of each Workload. Reading them is not counted, and what the state does not keep of them is gone after
// each batch.
Cost put_all(state::ClusterState& state, int workloads, int version) {
  const long long before = bytes_in_use;
  double spent = 0;
  for (int first = 0; first < workloads; first += kBatch) {
    std::vector<TypedObject> batch;
    for (int i = first; i < std::min(first + kBatch, workloads); ++i)
      batch.push_back(read_object(kWorkloads, workload(i, version)));
    const double began = cpu_nanoseconds();
    for (const TypedObject& object : batch) state.put_watched(object);
    spent += cpu_nanoseconds() - began;
  }
  return {static_cast<double>(bytes_in_use - before) / workloads, spent / workloads};
}

struct Costs {
  double pending_bytes, admitted_bytes, insert, replace;
};

Costs measure(int workloads, bool indexed, bool count_bytes) {
  counting = count_bytes;
  bytes_in_use = 0;
  Costs costs{};
  {
    state::ClusterState state;
    if (indexed) make_indexes(state);
    const Cost insert = put_all(state, workloads, 0);
    const Cost replace = put_all(state, workloads, 1);
    costs = {insert.bytes, insert.bytes + replace.bytes, insert.nanoseconds, replace.nanoseconds};
  }
  counting = false;
  return costs;
}

double median(std::vector<Costs> rounds, double Costs::*figure) {
  std::sort(rounds.begin(), rounds.end(), [&](const Costs& a, const Costs& b) { return a.*figure < b.*figure; });
  return rounds[rounds.size() / 2].*figure;
}

}  // namespace

int main(int argc, char** argv) {
  const int workloads = argc > 1 ? std::atoi(argv[1]) : 50'000;
  if (workloads <= 0) {
    std::fprintf(stderr, "usage: bench_state [WORKLOADS]\n");
    return 2;
  }
  measure(workloads, true, false);  // what the process allocates once
  const Costs plain_bytes = measure(workloads, false, true), indexed_bytes = measure(workloads, true, true);
  std::vector<Costs> plain, indexed;
  for (int i = 0; i < kRounds; ++i) {
    plain.push_back(measure(workloads, false, false));
    indexed.push_back(measure(workloads, true, false));
  }
  std::printf("| each of %d Workloads | without indexes | with all indexes | ratio |\n|---|---|---|---|\n", workloads);
  const auto print = [](const char* what, const char* unit, double without, double with) {
    std::printf("| %s | %.0f%s | %.0f%s | %.2f |\n", what, without, unit, with, unit, with / without);
  };
  print("memory, pending", " B", plain_bytes.pending_bytes, indexed_bytes.pending_bytes);
  print("memory, admitted", " B", plain_bytes.admitted_bytes, indexed_bytes.admitted_bytes);
  print("put, new", " ns", median(plain, &Costs::insert), median(indexed, &Costs::insert));
  print("put, newer version with an admission", " ns", median(plain, &Costs::replace),
        median(indexed, &Costs::replace));
  return 0;
}
