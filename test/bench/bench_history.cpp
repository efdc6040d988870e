// What the histories cost: memory for 50,000 Workloads that have lived through waiting, an eviction and their end, and
// for a day of 1,000 ClusterQueues; CPU time of the engine's thread for each version of a Workload; a question.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "explain/history/workload_history.h"
#include "explain/lists/usage_history.h"
#include "scheduler/eligibility.h"

using namespace muster;
using nlohmann::json;

namespace {

constexpr int64_t kStart = 1'767'268'800;
constexpr double kMiB = 1024.0 * 1024.0;

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

double resident_mib() {
  std::ifstream statm("/proc/self/statm");
  long size = 0, resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / kMiB;
}

json condition(const char* type, bool is_true, const char* reason, int64_t second, const std::string& message = "") {
  return {{"type", type},
          {"status", is_true ? "True" : "False"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", format_rfc3339({kStart + second, 0})}};
}

// The versions of one Workload, in their order.
std::vector<json> versions(int number) {
  const std::string waits =
      "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
      "on-demand, " +
      std::to_string(number % 97) + " more needed";
  const json admission = {
      {"clusterQueue", "cq"},
      {"podSetAssignments", {{{"name", "main"}, {"flavors", {{"cpu", "spot"}}}, {"resourceUsage", {{"cpu", "1"}}}}}}};
  const json reserved = condition("QuotaReserved", true, "QuotaReserved", 60);
  const json admitted = condition("Admitted", true, "Admitted", 60);
  const json finished = condition("Finished", true, "Succeeded", 600, "Job finished successfully");
  return {json::object(),
          {{"conditions", {condition("QuotaReserved", false, "WaitingForQuota", 1, waits)}}},
          {{"admission", admission}, {"conditions", {reserved, admitted}}},
          {{"admission", admission}, {"conditions", {reserved, admitted, condition("PodsReady", true, "Started", 70)}}},
          {{"admission", admission}, {"conditions", {reserved, admitted, finished}}}};
}

WorkloadPtr workload(int number, json status) {
  const std::string name = "job-train-" + std::to_string(number) + "-1a2b3";
  char uid[40];
  std::snprintf(uid, sizeof uid, "0f3c8a52-7c1e-4f0b-9d6a-%012d", number);
  return read_workload({{"metadata",
                         {{"namespace", "team-" + std::to_string(number % 100)},
                          {"name", name},
                          {"uid", uid},
                          {"creationTimestamp", format_rfc3339({kStart, 0})},
                          {"ownerReferences",
                           {{{"apiVersion", "batch/v1"},
                             {"kind", "Job"},
                             {"name", "train-" + std::to_string(number)},
                             {"uid", uid},
                             {"controller", true}}}}}},
                        {"spec", {{"queueName", "lq"}}},
                        {"status", std::move(status)}});
}

void row(const char* what, double value, const char* unit, const char* bound, bool met) {
  std::printf("| %-58s | %8.2f %-4s | %-9s | %-3s |\n", what, value, unit, bound, met ? "yes" : "NO");
}

// A day of queues with four quotas each.
double usage_mib(explain::UsageHistory& usage, int queues) {
  const double before = resident_mib();
  explain::QueueListing listed;
  for (int i = 0; i < queues; ++i) {
    scheduler::ListedClusterQueue queue;
    queue.object = read_cluster_queue({{"metadata", {{"name", "queue-" + std::to_string(i)}}}});
    for (const char* flavor : {"spot", "on-demand"}) {
      for (const char* resource : {"cpu", "memory"})
        queue.quotas.push_back({.flavor = flavor, .resource = resource, .nominal = 4000, .used = 4000});
    }
    listed.listing.cluster_queues.push_back(std::move(queue));
  }
  for (size_t i = 0; i < explain::UsageHistory::kMostSamples; ++i) {
    listed.at = {kStart + static_cast<int64_t>(i) * 300, 0};
    usage.add(listed);
  }
  return resident_mib() - before;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 50'000;
  const int queues = argc > 2 ? std::atoi(argv[2]) : 1'000;
  std::printf("| %d Workloads, %d ClusterQueues | measured | bound | met |\n|---|---|---|---|\n", count, queues);
  explain::UsageHistory usage;
  const double of_queues = usage_mib(usage, queues);
  row("a day of all ClusterQueues with 4 quotas each, memory", of_queues, "MiB", "", true);

  // What is read of JSON is freed before the next: what stays is the history's.
  explain::WorkloadHistory history;
  const double before = resident_mib();
  double spent = 0;
  size_t seen = 0;
  for (int number = 0; number < count; ++number) {
    int64_t second = 0;
    for (json& status : versions(number)) {
      const WorkloadPtr version = workload(number, std::move(status));
      const double began = cpu_seconds();
      history.put(*version, {kStart + ++second * 100, 0});
      spent += cpu_seconds() - began;
      ++seen;
    }
  }
  const double of_workloads = resident_mib() - before;
  const double whole = of_queues + of_workloads;
  row("5 versions and 6 moments of each Workload, memory", of_workloads, "MiB", "", true);
  row("the same, as counted for its budget", static_cast<double>(history.bytes()) / kMiB, "MiB", "<= 40 MiB",
      history.bytes() <= explain::WorkloadHistory::Limits().bytes);
  row("all history, memory", whole, "MiB", "<= 64 MiB", whole <= 64);
  row("Workloads that have one", static_cast<double>(history.workloads()), "", "", true);
  row("a version taken in, CPU time of the engine's thread", spent / static_cast<double>(seen) * 1e6, "us", "", true);

  std::vector<double> questions;
  for (int i = 0; i < 1'000; ++i) {
    const int number = count - 1 - i * 7 % count;
    const double began = cpu_seconds();
    if (history.of({&kJobs, "team-" + std::to_string(number % 100), "train-" + std::to_string(number)}).size() < 5)
      return 1;
    questions.push_back((cpu_seconds() - began) * 1e6);
  }
  std::sort(questions.begin(), questions.end());
  row("a question about a Job, CPU time, p99", questions[989], "us", "", true);

  // The worst that tenants can do: as many changes as fit, of the longest texts.
  const double calm = resident_mib();
  for (int number = 0; number < count; ++number) {
    for (int i = 0; i < 8; ++i) {
      const std::string reason = "Reason" + std::to_string(i);
      history.put(*workload(count + number, {{"conditions",
                                              {condition("QuotaReserved", false, reason.c_str(), i,
                                                         std::to_string(number) + std::string(2'000, 'x'))}}}),
                  {kStart + 1000 + i, 0});
    }
  }
  row("after as many Workloads with 8 changes and long texts, more", resident_mib() - calm, "MiB", "", true);
  row("the same, as counted for its budget", static_cast<double>(history.bytes()) / kMiB, "MiB", "<= 40 MiB",
      history.bytes() <= explain::WorkloadHistory::Limits().bytes);
  const double most = resident_mib() - before + of_queues;
  row("all history then, memory", most, "MiB", "<= 64 MiB", most <= 64);
  return 0;
}
