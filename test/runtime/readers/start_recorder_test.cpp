// Estimates that are made while muster runs.
#include "runtime/readers/start_recorder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "test/forecast/starts/starts_cluster.h"

namespace start_recorder_test {

using namespace muster;
using namespace muster::runtime;
using namespace muster::test;

namespace {

// Waits go by the machine's clock, and the day is the cluster's.
struct DayOfCluster final : Clock {
  Now now() const override { return {day_, system_clock().now().monotonic}; }

 private:
  const TimePoint day_ = StartsCluster().now().wall;
};
const DayOfCluster kDay;

// The engine's place: one question at a time, and changes between them.
class Asked {
 public:
  StartsCluster cluster;
  std::atomic<int> questions = 0;

  StartRecorder::Ask ask() {
    return [this](const StartRecorder::Look& look) {
      ++questions;
      const std::lock_guard lock(mutex_);
      look(cluster.state, cluster.decisions, cluster.settings.queues, false);
      return true;
    };
  }
  void change(const std::function<void(StartsCluster&)>& to) {
    const std::lock_guard lock(mutex_);
    to(cluster);
  }

 private:
  std::mutex mutex_;
};

constexpr StartRecorder::Times kQuick = {.interval = std::chrono::milliseconds(1),
                                         .until_first = std::chrono::milliseconds(1),
                                         .share = 1,
                                         .gives_way = false};

std::optional<StartEstimate> estimate_of(const StartRecorder& recorder, const std::string& name) {
  const auto all = recorder.latest();
  const StartEstimate* found = all ? all->find("team-a", name) : nullptr;
  return found == nullptr ? std::nullopt : std::optional(*found);
}

bool eventually(const std::function<bool()>& holds) {
  const MonotonicTime end = system_clock().now().monotonic + std::chrono::seconds(30);
  while (!holds() && system_clock().now().monotonic < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return holds();
}

}  // namespace

TEST_CASE("start recorder: an engine that has nothing to show is asked again, and then there are estimates") {
  Asked asked;
  asked.cluster.put(kWorkloads, asked.cluster.running("first", 4, 10, {{"maximumExecutionTimeSeconds", 600}}));
  asked.cluster.put(kWorkloads, asked.cluster.workload("second", 4, 5));
  std::atomic<int> refused = 0;
  StartRecorder recorder(
      [&, ask = asked.ask()](const StartRecorder::Look& look) { return ++refused >= 3 && ask(look); }, kDay, kQuick);
  CHECK(eventually([&] { return estimate_of(recorder, "second").has_value(); }));
  CHECK(estimate_of(recorder, "second")->outcome == StartOutcome::kRange);
  CHECK_FALSE(estimate_of(recorder, "first"));
}

TEST_CASE("start recorder: Workloads that had finished before, and those that finish later, are the history") {
  Asked asked;
  asked.cluster.put(kWorkloads, asked.cluster.running("holder", 3, 10));
  asked.cluster.put(kWorkloads, asked.cluster.workload("second", 4, 5));
  for (int i = 0; i < 4; ++i) asked.cluster.put(kWorkloads, asked.cluster.finished("old" + std::to_string(i), 1, 900));
  asked.cluster.put(kWorkloads, asked.cluster.running("runs", 1, 900));
  StartRecorder recorder(asked.ask(), kDay, kQuick);
  CHECK(eventually([&] { return estimate_of(recorder, "second").has_value(); }));
  CHECK(estimate_of(recorder, "second")->outcome == StartOutcome::kRunTimesUnknown);
  asked.change([](StartsCluster& cluster) { cluster.put(kWorkloads, cluster.finished("runs", 1, 900)); });
  CHECK(eventually([&] { return estimate_of(recorder, "second")->outcome == StartOutcome::kRange; }));
  CHECK(estimate_of(recorder, "second")->basis.finished == 5);
}

TEST_CASE("start recorder: it rests in proportion to what it costs, and longer where it leads") {
  for (const bool leads : {false, true}) {
    StartsCluster cluster;
    cluster.put(kWorkloads, cluster.workload("second", 1, 5));
    std::atomic<int> questions = 0;
    StartRecorder recorder(
        [&](const StartRecorder::Look& look) {
          ++questions;
          look(cluster.state, cluster.decisions, cluster.settings.queues, leads);
          return true;
        },
        kDay,
        {.interval = std::chrono::milliseconds(1),
         .until_first = std::chrono::milliseconds(1),
         .share = leads ? 1 : 1e-9,
         .share_of_leader = leads ? 1e-9 : 1,
         .gives_way = false});
    CHECK(eventually([&] { return recorder.latest() != nullptr; }));
    // Years of rest, and the end does not wait for them.
    CHECK(questions <= 2);
  }
}

TEST_CASE("start recorder: a round that lasts too long ends with the courses that it has") {
  for (const bool in_time : {true, false}) {
    Asked asked;
    asked.cluster.put(kWorkloads, asked.cluster.running("first", 4, 10, {{"maximumExecutionTimeSeconds", 600}}));
    for (int i = 0; i < 100; ++i)
      asked.cluster.put(kWorkloads, asked.cluster.workload("w" + std::to_string(100 + i), 4, 100 - i,
                                                           {{"maximumExecutionTimeSeconds", 600}}));
    StartRecorder::Times times = kQuick;
    times.longest = in_time ? std::chrono::hours(1) : std::chrono::hours(-1);
    StartRecorder recorder(asked.ask(), kDay, times);
    CHECK(eventually([&] { return estimate_of(recorder, "w199").has_value(); }));
    CHECK(estimate_of(recorder, "w199")->outcome == (in_time ? StartOutcome::kRange : StartOutcome::kNotSimulated));
  }
}

TEST_CASE("start recorder: what throws costs the estimates and nothing else") {
  StartsCluster cluster;
  cluster.put(kWorkloads, cluster.workload("second", 1, 5));
  std::atomic<int> questions = 0;
  StartRecorder recorder(
      [&](const StartRecorder::Look& look) {
        if (++questions < 3) throw std::runtime_error("broken");
        look(cluster.state, cluster.decisions, cluster.settings.queues, false);
        return true;
      },
      kDay, kQuick);
  CHECK(eventually([&] { return estimate_of(recorder, "second").has_value(); }));
}

}  // namespace start_recorder_test
