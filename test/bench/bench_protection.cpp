// Evictions and lost work with and without protection from early preemption, in virtual time: one Cohort of the
// shape "baseline" of Kueue's performance test, under the real engine, with an API server, Job controller and kubelets
// in memory. All times are ten times as long as in the shape, since the kubelets of the simulation count whole seconds;
// what is printed is divided by ten again.
//
//   build/bench/bench_protection [PART]     the part of each ClusterQueue's 500 Jobs: 1 by default
//
// docs/benchmarks.md has the table.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "api/meta/constants.h"
#include "api/workload.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/world/world.h"

namespace {

using namespace muster;
using namespace muster::world;
using nlohmann::json;

constexpr int kQueues = 6;
constexpr int kSlower = 10;

struct Sort {
  const char* name;
  int count;
  Duration every;
  int run_seconds;  // in virtual time
  const char* cpu;
  int priority;
};
constexpr Sort kSorts[] = {
    {"small", 350, std::chrono::milliseconds(100 * kSlower), 2, "1", 50},
    {"medium", 100, std::chrono::milliseconds(500 * kSlower), 5, "5", 100},
    {"large", 50, std::chrono::milliseconds(1200 * kSlower), 10, "20", 200},
};

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count() / kSlower;
}

class Baseline {
 public:
  Baseline(int protection_seconds, double part) : part_(part) {
    for (const json& object : objects(protection_seconds)) world_.create(object);
    world_.api_server().on_change([this](const Change& change) { see(change); });
    for (int queue = 0; queue < kQueues; ++queue) {
      for (const Sort& sort : kSorts) submit(queue, sort);
    }
  }

  void run(const char* what) {
    const bool done = world_.run_until([&] { return finished_ == expected_; }, std::chrono::hours(24));
    std::printf("| %s | %d | %.1f | %.2f | %.2f | %.2f | %.1f%s |\n", what, evictions_, seconds_of(lost_),
                wait("small"), wait("medium"), wait("large"), seconds_of(world_.elapsed()),
                done ? "" : ", NOT ALL DONE");
    std::fflush(stdout);
  }

 private:
  static std::vector<json> objects(int protection_seconds) {
    std::vector<json> made = {test::queues(1)[0]};
    for (int i = 0; i < kQueues; ++i) {
      const std::string name = "q" + std::to_string(i);
      json queue = test::queues(20)[1], local = test::queues(20)[2];
      queue["metadata"]["name"] = local["metadata"]["name"] = local["spec"]["clusterQueue"] = name;
      queue["spec"]["cohortName"] = "all";
      queue["spec"]["preemption"] = {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}};
      queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = "100";
      if (protection_seconds > 0) {
        const std::string length = std::to_string(protection_seconds * kSlower) + "s";
        queue["metadata"]["annotations"] = {{kPreemptionProtectionAnnotation, length},
                                            {kReclaimProtectionAnnotation, length}};
      }
      made.push_back(queue);
      made.push_back(local);
    }
    for (const Sort& sort : kSorts) {
      made.push_back({{"apiVersion", kWorkloadPriorityClasses.api_version},
                      {"kind", kWorkloadPriorityClasses.kind},
                      {"metadata", {{"name", sort.name}}},
                      {"value", sort.priority}});
    }
    return made;
  }

  void submit(int queue, const Sort& sort) {
    const int count = std::max(1, static_cast<int>(sort.count * part_));
    expected_ += count;
    for (int i = 0; i < count; ++i) {
      const std::string queue_name = "q" + std::to_string(queue);
      json job = test::queued_job(1, std::string(sort.name) + "-" + queue_name + "-" + std::to_string(i));
      job["metadata"]["labels"] = {{kQueueNameLabel, queue_name}, {kPriorityClassLabel, sort.name}};
      json& pod = job["spec"]["template"];
      pod["metadata"]["annotations"] = {{kRunSeconds, std::to_string(sort.run_seconds)}};
      pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = sort.cpu;
      world_.at(world_.elapsed() + i * sort.every, [this, job] { world_.create(job); });
    }
  }

  struct Life {
    std::string sort;
    Duration created{};
    std::optional<Duration> admitted{};
    bool waited = false;
    bool over = false;
  };

  void see(const Change& change) {
    if (*change.type != kWorkloads || change.removed) return;
    const WorkloadPtr workload = read_workload(*change.after);
    if (!workload->meta.controller) return;
    const std::string job = workload->meta.controller->name;
    Life& life = lives_.try_emplace(job, Life{job.substr(0, job.find('-')), world_.elapsed()}).first->second;
    if (workload->admitted() && !workload->evicted() && !life.admitted) {
      life.admitted = world_.elapsed();
      if (!std::exchange(life.waited, true)) {
        waits_[life.sort] += life.admitted.value() - life.created;
        ++admitted_[life.sort];
      }
    }
    if (workload->evicted() && life.admitted) {
      ++evictions_;
      lost_ += world_.elapsed() - *life.admitted;
      life.admitted.reset();
    }
    if (workload->finished() && !std::exchange(life.over, true)) ++finished_;
  }

  // The mean until the first admission.
  double wait(const std::string& sort) { return seconds_of(waits_[sort]) / std::max(1, admitted_[sort]); }

  const double part_;
  World world_{{.seed = 1}};
  std::map<std::string, Life> lives_;
  std::map<std::string, Duration> waits_;
  std::map<std::string, int> admitted_;
  int expected_ = 0;
  int finished_ = 0;
  int evictions_ = 0;
  Duration lost_{};
};

}  // namespace

int main(int argc, char** argv) {
  const double part = argc > 1 ? std::atof(argv[1]) : 1;
  std::printf(
      "| protection | evictions | lost pod-seconds | first admission of small, mean s | medium | large | all done "
      "after s "
      "|\n|---|---|---|---|---|---|---|\n");
  Baseline(0, part).run("none");
  Baseline(1, part).run("1 s");
  Baseline(5, part).run("5 s");
}
