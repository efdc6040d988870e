// `muster simulate` decides as muster does: the same jobs in the simulated cluster, where real engines write to an API
// server, and in a what-if are admitted and evicted in the same order.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "api/workload_conditions.h"
#include "forecast/chance.h"
#include "test/forecast/scenarios.h"
#include "test/simulation/queues.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace same_decisions_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

struct TimedJob {
  json manifest;
  Duration at;
  Duration run;
};

TimedJob timed(const std::string& name, const std::string& queue, const std::string& priority, int pods, Duration at,
               Duration run) {
  TimedJob job{queued_job(pods, name), at, run};
  job.manifest["metadata"]["labels"] = {{kQueueNameLabel, queue}};
  if (!priority.empty()) job.manifest["metadata"]["labels"][std::string(kPriorityClassLabel)] = priority;
  const auto of = [](Duration span) { return std::to_string(span / 1s); };
  job.manifest["spec"]["template"]["metadata"]["annotations"] = {{world::kRunSeconds, of(run)}};
  annotate(job.manifest, "arrival", of(at) + "s");
  annotate(job.manifest, "run-time", of(run) + "s");
  return job;
}

using Steps = std::vector<std::string>;  // "admitted a", "preempted b"

std::string name_of_job(const std::string& workload) {
  // "job-<name>-<hash>"
  return workload.substr(4, workload.rfind('-') - 4);
}

Steps steps_in_world(const std::vector<json>& objects, const std::vector<TimedJob>& jobs, const QueueSettings& queues,
                     Duration length) {
  world::WorldOptions options{.seed = 1, .queues = queues};
  // Gangs and webhooks are no part of the question; the nodes have room for all pods.
  world::World world(std::move(options));
  for (const json& object : objects) REQUIRE(world.create(object).outcome == reconcilers::WriteOutcome::kDone);
  world.run_for(5s);
  for (const TimedJob& job : jobs) {
    world.at(world.elapsed() + job.at, [&world, &job] {
      const auto answer = world.create(job.manifest);
      INFO(answer.message);
      CHECK(answer.outcome == reconcilers::WriteOutcome::kDone);
    });
  }
  world.run_for(length);
  CHECK(world.violations().empty());
  Steps steps;
  for (const ObjectEvent& event : world.events()) {
    if (event.regarding.kind != "Workload") continue;
    if (event.reason == kAdmittedReason) steps.push_back("admitted " + name_of_job(event.regarding.name));
    if (event.reason == "EvictedDueToPreempted") steps.push_back("preempted " + name_of_job(event.regarding.name));
  }
  return steps;
}

// Evictions of one moment stand before the admissions that they make room for.
Steps steps_in_what_if(const std::vector<json>& objects, const std::vector<TimedJob>& jobs,
                       const QueueSettings& queues) {
  std::vector<json> all = objects;
  for (const TimedJob& job : jobs) all.push_back(job.manifest);
  forecast::ScenarioOptions options = all_kinds();
  options.settings.queues = queues;
  options.stop_time = 2s;
  const forecast::Scenario scenario = scenario_of(all, options);
  const forecast::History history = forecast::run(scenario);
  std::multimap<int64_t, std::string> steps;
  const auto name = [&](uint32_t job) { return forecast::job_name(scenario, job).substr(8); };
  for (const forecast::Stay& stay : history.stays) {
    if (stay.ended_by_eviction)
      steps.emplace(stay.to - Duration(options.stop_time).count(), "preempted " + name(stay.job));
  }
  for (const forecast::Stay& stay : history.stays) steps.emplace(stay.from, "admitted " + name(stay.job));
  Steps order;
  for (const auto& [at, step] : steps) order.push_back(step);
  return order;
}

}  // namespace

TEST_CASE("what-if: two teams that borrow, reclaim and preempt do so as in the simulated cluster") {
  // In the cluster the pods of a job end one after another, and each gives its quota back: no order of the jobs that
  // wait depends on that. When e ends, d fits as soon as c does, and is before it.
  const std::vector<TimedJob> jobs = {
      timed("a", "red", "low", 3, 0s, 300s),    timed("b", "red", "low", 3, 20s, 600s),
      timed("c", "red", "low", 2, 40s, 200s),   timed("d", "blue", "low", 2, 60s, 400s),
      timed("e", "blue", "high", 4, 100s, 90s), timed("f", "red", "high", 4, 140s, 250s),
      timed("g", "blue", "low", 1, 180s, 77s),  timed("h", "red", "low", 5, 220s, 33s)};
  const Steps world = steps_in_world(two_teams(4), jobs, {}, 3600s);
  const Steps what_if = steps_in_what_if(two_teams(4), jobs, {});
  // What is decided in one moment is written in any order: steps of one sort that follow each other are sorted.
  const auto text = [](Steps steps) {
    for (size_t from = 0, to = 0; from < steps.size(); from = to) {
      while (to < steps.size() && steps[to][0] == steps[from][0]) ++to;
      std::sort(steps.begin() + static_cast<long>(from), steps.begin() + static_cast<long>(to));
    }
    std::string all;
    for (const std::string& step : steps) all += step + ", ";
    return all;
  };
  CHECK(text(what_if) == text(world));
  CHECK(std::count_if(world.begin(), world.end(), [](const std::string& step) { return step.starts_with("pre"); }) >=
        3);
  CHECK(world.size() >= 12);
}

TEST_CASE("what-if: ten random days are decided as in the simulated cluster") {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    forecast::Chance chance(seed);
    std::vector<TimedJob> jobs;
    for (int i = 0; i < 12; ++i) {
      // Arrivals and ends of different jobs never fall into one moment.
      const int pods = 1 + static_cast<int>(chance.next() % 4);
      const Duration run = 100s + std::chrono::seconds(60 * (chance.next() % 10));
      jobs.push_back(timed("j" + std::to_string(i), chance.next() % 2 ? "red" : "blue",
                           chance.next() % 3 ? "low" : "high", pods, std::chrono::seconds(20 * i), run));
    }
    INFO("seed " << seed);
    // Where a moment is shared, the cluster's delays decide who is first; so the sets are compared, and each job's
    // course.
    const Steps world = steps_in_world(two_teams(4), jobs, {}, 7200s);
    const Steps what_if = steps_in_what_if(two_teams(4), jobs, {});
    const auto admitted_first = [](const Steps& steps) {
      Steps first;
      for (const std::string& step : steps) {
        if (step.starts_with("admitted") && std::find(first.begin(), first.end(), step) == first.end())
          first.push_back(step);
      }
      std::sort(first.begin(), first.end());
      return first;
    };
    CHECK(admitted_first(world) == admitted_first(what_if));
    CHECK(admitted_first(world).size() == jobs.size());
  }
}

}  // namespace same_decisions_test
