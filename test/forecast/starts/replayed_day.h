// A day of random jobs in virtual time, with estimates of starts taken while it goes on, and what became of them: how
// many of the true starts were in the range that was said. Two days are simulated; the first one is the history.
//
// The day is decided by forecast with the passes and conditions of Workloads, the estimates by
// forecast/starts from the state as the engine would have it, without what comes later.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "api/meta/constants.h"
#include "forecast/job_shapes.h"
#include "forecast/run.h"
#include "forecast/scenario_reader.h"
#include "forecast/starts/start_estimator.h"
#include "jobs/job_kind.h"

namespace muster::test {

// The queues of one kind, and the load on each of its parts.
struct DayQueue {
  const char* name;
  const char* cohort;
  bool preempts = false;
  double load = 1;
};

inline constexpr DayQueue kDayQueues[] = {{"alone", "", false, 0.95},
                                          {"busy", "", false, 1.1},
                                          {"priorities", "", true, 0.95},
                                          {"lender", "shared", true, 0.7},
                                          {"borrower", "shared", true, 1.1}};

struct DayShape {
  const char* name;
  int cpus;
  double weight;
  double minutes;  // median
  const char* priority;
};
inline constexpr DayShape kDayShapes[] = {
    {"small", 1, 6, 6, "low"}, {"middle", 4, 3, 20, "low"}, {"large", 8, 1, 45, "low"}, {"urgent", 2, 1, 8, "high"}};
inline constexpr int kDayCpus = 32;
inline constexpr double kDaySpread = 0.8;

inline std::vector<forecast::SourceObject> day_objects(double load) {
  using nlohmann::json;
  std::vector<forecast::SourceObject> all;
  const auto add = [&](json object) { all.push_back({"day", std::move(object)}); };
  add({{"apiVersion", kResourceFlavors.api_version}, {"kind", "ResourceFlavor"}, {"metadata", {{"name", "f"}}}});
  for (const auto& [name, value] : {std::pair("low", 10), {"high", 100}})
    add({{"apiVersion", kWorkloadPriorityClasses.api_version},
         {"kind", kWorkloadPriorityClasses.kind},
         {"metadata", {{"name", name}}},
         {"value", value}});
  for (const DayQueue& queue : kDayQueues) {
    const json quota = {{"name", "cpu"}, {"nominalQuota", std::to_string(kDayCpus)}};
    const json flavor = {{"name", "f"}, {"resources", json::array({quota})}};
    json spec = {
        {"namespaceSelector", json::object()},
        {"resourceGroups", json::array({{{"coveredResources", {"cpu"}}, {"flavors", json::array({flavor})}}})}};
    if (*queue.cohort != 0) spec["cohortName"] = queue.cohort;
    if (queue.preempts) spec["preemption"] = {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}};
    add({{"apiVersion", kClusterQueues.api_version},
         {"kind", "ClusterQueue"},
         {"metadata", {{"name", queue.name}}},
         {"spec", std::move(spec)}});
    add({{"apiVersion", kLocalQueues.api_version},
         {"kind", "LocalQueue"},
         {"metadata", {{"name", queue.name}, {"namespace", "default"}}},
         {"spec", {{"clusterQueue", queue.name}}}});
    for (const DayShape& shape : kDayShapes) {
      const bool urgent = std::string(shape.priority) == "high";
      if (urgent && std::string(queue.name) != "priorities") continue;
      json manifest = forecast::to_manifest({.ns = "default",
                                             .queue = queue.name,
                                             .name = std::string(queue.name) + "-" + shape.name,
                                             .priority_class = shape.priority,
                                             .count = shape.cpus,
                                             .requests = {{"cpu", "1"}}});
      manifest["metadata"]["annotations"] = {
          {"simulate.muster.batch/weight", std::to_string(shape.weight * queue.load * load)},
          {"simulate.muster.batch/run-time", std::to_string(shape.minutes * 60)}};
      add(std::move(manifest));
    }
  }
  return all;
}

// How many jobs of two days need the whole quota of all queues, at a load of 1.
inline uint32_t day_jobs(double load) {
  double weights = 0, work = 0, quota = 0;
  for (const DayQueue& queue : kDayQueues) {
    quota += kDayCpus * queue.load;
    for (const DayShape& shape : kDayShapes) {
      if (std::string(shape.priority) == "high" && std::string(queue.name) != "priorities") continue;
      weights += shape.weight * queue.load;
      work += shape.weight * queue.load * shape.cpus * shape.minutes * 60 * std::exp(kDaySpread * kDaySpread / 2);
    }
  }
  return static_cast<uint32_t>(load * quota * 2 * 86'400 * weights / work);
}

struct DayCount {
  size_t estimates = 0, early = 0, in_range = 0, late = 0, without = 0;
  double width = 0;  // sum of the ranges' widths as shares of the true wait
  double share() const { return estimates == 0 ? 0 : static_cast<double>(in_range) / static_cast<double>(estimates); }
};
struct DayResult {
  size_t jobs = 0;
  std::map<std::string, DayCount> by_queue;  // "" is all
  DayCount first_of_each;                    // of each job that had waited, the first estimate only
};

class ReplayedDay {
 public:
  explicit ReplayedDay(uint64_t seed, double load = 1, size_t courses = 19) : courses_(courses) {
    forecast::ScenarioOptions options;
    for (const jobs::JobKind* kind : jobs::job_kinds())
      options.settings.queues.rules.frameworks.emplace(kind->framework);
    options.random = forecast::RandomArrivals{
        .seed = seed, .jobs = day_jobs(load), .over = std::chrono::hours(48), .spread = kDaySpread};
    auto read = forecast::read_scenario(day_objects(load), options);
    if (!read) throw std::runtime_error(read.error().message);
    scenario_ = std::move(read->scenario);
  }

  DayResult play() {
    truth_ = forecast::run(scenario_);
    for (size_t i = 0; i < scenario_.arrivals.size(); ++i) {
      const forecast::Arrival& arrival = scenario_.arrivals[i];
      const Workload& workload = *scenario_.shapes[arrival.shape].workload;
      const std::string name = workload.meta.name + "-" + std::to_string(arrival.serial);
      numbers_.emplace(path_of(workload.meta.ns, name), i);
      if (truth_.jobs[i].fate == forecast::Fate::kFinished) ends_.emplace_back(truth_.jobs[i].end, i);
    }
    std::sort(ends_.begin(), ends_.end());
    for (const forecast::Stay& stay : truth_.stays) stays_[stay.job].push_back(stay.from);
    result_.jobs = scenario_.arrivals.size();
    const auto every = [&](const state::ClusterState& state, const state::SchedulerDriver& decisions, Now now) {
      look(state, decisions, now);
    };
    forecast::run(scenario_, {}, {.every = std::chrono::minutes(20), .look = every});
    return result_;
  }

 private:
  void look(const state::ClusterState& state, const state::SchedulerDriver& decisions, Now now) {
    const int64_t elapsed = (now.wall - scenario_.start).count();
    for (; noted_ < ends_.size() && ends_[noted_].first <= elapsed; ++noted_) note(ends_[noted_].second);
    history_.arrivals.begin(to_timestamp(scenario_.start));
    for (; come_ < scenario_.arrivals.size() && scenario_.arrivals[come_].at.count() <= elapsed; ++come_) {
      Workload workload = *scenario_.shapes[scenario_.arrivals[come_].shape].workload;
      workload.meta.created = to_timestamp(scenario_.start + scenario_.arrivals[come_].at);
      history_.arrivals.note(std::make_shared<const Workload>(std::move(workload)), to_timestamp(now.wall));
    }
    if (elapsed < Duration(std::chrono::hours(24)).count() || elapsed > Duration(std::chrono::hours(48)).count())
      return;
    const starts::StartScene scene = starts::take_start_scene(state, decisions, scenario_.settings.queues, false, now);
    // The annotations of this day say how long jobs run at the median: the estimates are made without them.
    starts::StartScene blind = scene;
    blind.annotated.clear();
    const StartEstimates estimates =
        starts::estimate_starts(blind, history_, scenario_.settings.queues, {.courses = courses_});
    for (const scheduler::ListedClusterQueue& queue : scene.listing.cluster_queues) {
      for (const scheduler::PendingEntry& entry : queue.pending)
        judge(queue.object->meta.name, *entry.object, estimates, elapsed);
    }
  }

  void note(size_t job) {
    const forecast::Arrival& arrival = scenario_.arrivals[job];
    const Workload& workload = *scenario_.shapes[arrival.shape].workload;
    history_.run_times.note({.local_queue = path_of(workload.meta.ns, workload.queue_name),
                             .cluster_queue = workload.queue_name,
                             .shape = starts::shape_of(workload),
                             .seconds = static_cast<double>(truth_.jobs[job].end - stays_[job].back()) / 1e9});
  }

  void judge(const std::string& queue, const Workload& workload, const StartEstimates& estimates, int64_t elapsed) {
    const size_t job = numbers_.at(path_of(workload.meta));
    const std::vector<int64_t>& stays = stays_[job];
    const auto next = std::upper_bound(stays.begin(), stays.end(), elapsed);
    if (next == stays.end()) return;
    const Timestamp start = to_timestamp(scenario_.start + Duration(*next));
    const StartEstimate* estimate = estimates.find(workload.meta.ns, workload.meta.name);
    const bool is_first = first_.insert(job).second;
    count(result_.by_queue[queue], estimate, start, estimates.at);
    count(result_.by_queue[""], estimate, start, estimates.at);
    if (is_first) count(result_.first_of_each, estimate, start, estimates.at);
  }

  static void count(DayCount& count, const StartEstimate* estimate, Timestamp start, Timestamp now) {
    const bool open = estimate != nullptr && estimate->outcome == StartOutcome::kNotBefore;
    if (estimate == nullptr || (!open && estimate->outcome != StartOutcome::kRange)) {
      ++count.without;
      return;
    }
    ++count.estimates;
    if (start.seconds < estimate->earliest.seconds)
      ++count.early;
    else if (!open && start.seconds > estimate->latest.seconds)
      ++count.late;
    else
      ++count.in_range;
    if (!open)
      count.width += static_cast<double>(estimate->latest.seconds - estimate->earliest.seconds) /
                     static_cast<double>(std::max<int64_t>(start.seconds - now.seconds, 60));
  }

  size_t courses_;
  forecast::Scenario scenario_;
  forecast::History truth_;
  starts::QueueHistory history_;
  std::map<std::string, size_t> numbers_;
  std::vector<std::pair<int64_t, size_t>> ends_;
  std::map<size_t, std::vector<int64_t>> stays_;
  std::set<size_t> first_;
  size_t noted_ = 0;
  size_t come_ = 0;
  DayResult result_;
};

inline void print(const char* name, const DayCount& count) {
  std::printf("%-12s %9zu %9.1f %% %9.1f %% %9.1f %% %9zu %9.2f\n", name, count.estimates, 100 * count.share(),
              100.0 * static_cast<double>(count.early) / static_cast<double>(std::max<size_t>(1, count.estimates)),
              100.0 * static_cast<double>(count.late) / static_cast<double>(std::max<size_t>(1, count.estimates)),
              count.without, count.width / static_cast<double>(std::max<size_t>(1, count.estimates)));
}

inline void print(const DayResult& result) {
  std::printf("%zu jobs in two days\n%-12s %9s %11s %11s %11s %9s %9s\n", result.jobs, "queue", "estimates", "in range",
              "too early", "too late", "without", "width");
  for (const auto& [queue, count] : result.by_queue) print(queue.empty() ? "all" : queue.c_str(), count);
  print("first only", result.first_of_each);
}

}  // namespace muster::test
