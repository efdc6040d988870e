// What the engine's thread and memory cost from a Workload's creation to its end, without
// sockets: every Workload is created, admitted and finished, in the shape of Kueue's
// large-scale benchmark. The API server is a map in memory; its time is not counted, but
// reading what it answers and what its watch shows is.
//
//   bench_engine [WORKLOADS [CLUSTER_QUEUES]]       50,000 and 1,000 by default; exit code 1 if a Workload does not end
#include <time.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "api/codec/json.h"
#include "engine/engine.h"
#include "kinds/watched_kinds.h"

namespace {

using namespace muster;
using nlohmann::json;

// CPU time of this thread: other work on the machine does not count.
class Stopwatch {
 public:
  explicit Stopwatch(std::chrono::nanoseconds& sum) : sum_(sum), began_(now()) {}
  ~Stopwatch() { sum_ += now() - began_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  static std::chrono::nanoseconds now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  std::chrono::nanoseconds& sum_;
  std::chrono::nanoseconds began_;
};

constexpr int kQueuesOfCohort = 100;

double resident_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

json object_of(const char* kind, const std::string& ns, const std::string& name, json spec) {
  json metadata = {{"name", name}, {"uid", "uid-" + name}, {"creationTimestamp", "2026-01-02T03:04:05Z"}};
  if (!ns.empty()) metadata["namespace"] = ns;
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", kind}, {"metadata", metadata}, {"spec", std::move(spec)}};
}

class Run {
 public:
  Run(int workloads, int queues) : workloads_(workloads), queues_(queues) {}

  // False: Workloads did not end.
  bool run() {
    start();
    const double idle = resident_mib();
    for (int i = 0; i < workloads_; ++i) create(i);
    turn();
    const double full = resident_mib();
    size_t finished = 0;
    for (int idle_seconds = 0; idle_seconds < 60;) {
      if (running_.empty()) {
        pass(std::chrono::seconds(1));
        ++idle_seconds;
      } else {
        finish(running_.front());
        running_.pop_front();
        ++finished;
      }
      turn();
    }
    const double seconds = std::chrono::duration<double>(spent_).count();
    std::printf("%d Workloads in %d ClusterQueues\n", workloads_, queues_);
    std::printf(
        "| finished | engine's CPU | per Workload | writes per Workload | memory before | with all pending | most |\n");
    std::printf("|---|---|---|---|---|---|---|\n");
    std::printf("| %zu | %.2f s | %.0f us | %.2f | %.1f MiB | %.1f MiB | %.1f MiB |\n", finished, seconds,
                seconds * 1e6 / workloads_, static_cast<double>(status_writes_) / workloads_, idle, full,
                resident_mib());
    for (const auto& [what, count] : writes_) std::printf("  %s: %zu\n", what.c_str(), count);
    return finished == static_cast<size_t>(workloads_);
  }

 private:
  void start() {
    std::map<KindId, engine::KindListed> lists;
    for (const WatchedKind& kind : watched_kinds()) lists[kind.type->id()] = {kind.type, {}, 1, ""};
    const auto add = [&](const ResourceType& type, json object) {
      const json stored = store(type, std::move(object));
      lists[type.id()].objects.push_back(read_object(type, stored));
    };
    add(kNamespaces, {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "ns"}}}});
    add(kResourceFlavors, object_of("ResourceFlavor", "", "default", json::object()));
    const json groups = json::parse(R"([{"coveredResources": ["cpu"], "flavors": [{"name": "default",
      "resources": [{"name": "cpu", "nominalQuota": "20", "borrowingLimit": "100"}]}]}])");
    for (int i = 0; i < queues_; ++i) {
      const std::string name = "cq-" + std::to_string(i);
      const json preemption = {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}};
      add(kClusterQueues, object_of("ClusterQueue", "", name,
                                    {{"cohortName", "cohort-" + std::to_string(i / kQueuesOfCohort)},
                                     {"resourceGroups", groups},
                                     {"namespaceSelector", json::object()},
                                     {"queueingStrategy", "BestEffortFIFO"},
                                     {"preemption", preemption}}));
      add(kLocalQueues, object_of("LocalQueue", "ns", "lq-" + std::to_string(i), {{"clusterQueue", name}}));
    }
    for (auto& [kind, list] : lists) apply(std::move(list));
    shown_.clear();
    apply(engine::LeadershipChanged{true});
    turn();
  }

  void create(int number) {
    constexpr struct {
      const char* name;
      const char* cpu;
      int priority;
    } kClasses[] = {{"small", "1", 50}, {"medium", "5", 100}, {"large", "20", 200}};
    const auto& its = kClasses[number / queues_ * 7 % 10 / 4];
    const json container = {{"name", "c"}, {"image", "pause"}, {"resources", {{"requests", {{"cpu", its.cpu}}}}}};
    const json pod = {{"containers", {container}}, {"restartPolicy", "Never"}};
    json workload = object_of("Workload", "ns", "wl-" + std::to_string(number),
                              {{"active", true},
                               {"queueName", "lq-" + std::to_string(number % queues_)},
                               {"priority", its.priority},
                               {"podSets", {{{"name", "main"}, {"count", 1}, {"template", {{"spec", pod}}}}}}});
    workload["metadata"]["labels"] = {{"class", its.name}};
    store(kWorkloads, std::move(workload));
  }

  void finish(const std::string& name) {
    json workload = parse_json(stored_.at({&kWorkloads, name})).value();
    workload["status"]["conditions"].push_back({{"type", "Finished"},
                                                {"status", "True"},
                                                {"reason", "Succeeded"},
                                                {"message", "Job finished"},
                                                {"lastTransitionTime", "2026-01-02T03:04:06Z"}});
    store(kWorkloads, std::move(workload));
  }

  // The API server's part; the watch shows it later.
  json store(const ResourceType& type, json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    const Name name{&type, object["metadata"]["name"]};
    stored_[name] = to_text(object);
    shown_.push_back(name);
    return object;
  }

  void apply(engine::Event event) {
    const Stopwatch running(spent_);
    engine_.apply(event, now_);
  }

  engine::Commands plan() {
    const Stopwatch running(spent_);
    return engine_.plan(now_);
  }

  // Until nothing is left to do. Time goes on, for what muster puts off.
  void turn() {
    for (bool busy = true; busy;) {
      while (!shown_.empty()) {
        const Name name = shown_.front();
        shown_.pop_front();
        const Stopwatch running(spent_);
        engine_.apply(engine::ObjectChanged{read_object(*name.first, *parse_json(stored_.at(name)))}, now_);
      }
      pass(std::chrono::milliseconds(5));
      const engine::Commands commands = plan();
      busy = !commands.writes.empty();
      for (const engine::Command& command : commands.writes) answer(command);
    }
  }

  void pass(Duration time) {
    now_.wall += time;
    now_.monotonic += time;
  }

  void answer(const engine::Command& command) {
    const reconcilers::Write& write = command.write;
    const ResourceType& type = *write.target.type;
    ++writes_[std::string(type.plural) + (write.verb == reconcilers::Verb::kPatchStatus ? "/status" : "")];
    const auto found = stored_.find({&type, write.target.name});
    if (found == stored_.end()) return apply(engine::WriteFinished{command.id, reconcilers::WriteOutcome::kNotFound});
    json object = parse_json(found->second).value();
    const bool held_quota = object.contains("/status/admission"_json_pointer);
    object.merge_patch(write.body);
    const json stored = store(type, std::move(object));
    if (&type == &kWorkloads) {
      const bool holds_quota = stored.contains("/status/admission"_json_pointer);
      if (!held_quota && holds_quota) running_.push_back(write.target.name);
      if (held_quota && !holds_quota) std::erase(running_, write.target.name);
      if (write.verb == reconcilers::Verb::kPatchStatus) ++status_writes_;
    }
    const std::string text = to_text(stored);
    const Stopwatch running(spent_);
    engine::WriteFinished finished{.id = command.id, .outcome = reconcilers::WriteOutcome::kDone};
    if (write.verb == reconcilers::Verb::kPatchStatus)
      finished.version = version_;  // the watch shows the rest
    else
      finished.object = read_object(type, *parse_json(text));
    engine_.apply(finished, now_);
  }

  using Name = std::pair<const ResourceType*, std::string>;

  const int workloads_, queues_;
  engine::Engine engine_{{}};
  Now now_{TimePoint(std::chrono::seconds(1'800'000'000)), MonotonicTime(std::chrono::seconds(1))};
  uint64_t version_ = 1;
  std::map<Name, std::string> stored_;  // as text: JSON trees would be the measured memory
  std::deque<Name> shown_;
  std::deque<std::string> running_;
  std::chrono::nanoseconds spent_{};
  size_t status_writes_ = 0;
  std::map<std::string, size_t> writes_;
};

}  // namespace

int main(int argc, char** argv) {
  const int workloads = argc > 1 ? std::atoi(argv[1]) : 50'000;
  const int queues = argc > 2 ? std::atoi(argv[2]) : 1'000;
  if (workloads <= 0 || queues <= 0) {
    std::fprintf(stderr, "usage: bench_engine [WORKLOADS [CLUSTER_QUEUES]]\n");
    return 2;
  }
  return Run(workloads, queues).run() ? 0 : 1;
}
