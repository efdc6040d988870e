// Run times: what is drawn from a history, and what a tenant can do to it.
#include "forecast/starts/run_times.h"

#include <doctest/doctest.h>

#include "test/forecast/starts/starts_cluster.h"

namespace run_times_test {

using namespace muster;
using namespace muster::starts;
using namespace muster::test;

namespace {

FinishedRun run_of(double seconds, std::optional<double> annotated = {}, const std::string& queue = "team-a/lq",
                   uint64_t shape = 1) {
  return {.local_queue = queue, .cluster_queue = "cq", .shape = shape, .seconds = seconds, .annotated = annotated};
}

Workload waiting(std::optional<int32_t> maximum = {}) {
  Workload workload;
  workload.meta.ns = "team-a";
  workload.meta.name = "w";
  workload.queue_name = "lq";
  workload.maximum_execution_seconds = maximum;
  return workload;
}

RunTimes after(int count, double seconds, std::optional<double> annotated = {}) {
  RunTimes times;
  for (int i = 0; i < count; ++i) times.note(run_of(seconds + i, annotated));
  return times;
}

}  // namespace

TEST_CASE("run times: a sample keeps the last values, sorted") {
  Sample sample;
  for (int i = 0; i < 200; ++i) sample.add(static_cast<float>((i * 7) % 200));
  CHECK(sample.size() == Sample::kMost);
  CHECK(std::is_sorted(sample.sorted().begin(), sample.sorted().end()));
  std::vector<float> last;
  for (int i = 200 - static_cast<int>(Sample::kMost); i < 200; ++i) last.push_back(static_cast<float>((i * 7) % 200));
  std::sort(last.begin(), last.end());
  CHECK(sample.sorted() == last);
}

TEST_CASE("run times: shares and values are each other's inverse, also beyond what was observed") {
  const std::vector<float> sorted = {10, 20, 40, 80};
  for (const double value : {1.0, 10.0, 15.0, 33.0, 79.0, 100.0, 1000.0})
    CHECK(value_at(sorted, share_below(sorted, value)) == doctest::Approx(value));
  CHECK(share_below(sorted, 20) == doctest::Approx(0.4));
  CHECK(share_below(sorted, 1e9) < 1);
}

TEST_CASE("run times: the longer something has run, the longer it goes on") {
  const RunTimes times = after(10, 100);
  const RunTimeGuess guess = times.guess(waiting(), "cq", {});
  CHECK(guess.source == RunTimeSource::kOwnHistory);
  CHECK(*guess.remaining(0, 0.5) == doctest::Approx(104.5).epsilon(0.01));
  CHECK(*guess.remaining(100, 0.5) < 10);
  CHECK(*guess.remaining(1000, 0.5) > 400);
}

TEST_CASE("run times: the maximum execution time bounds everything, and is all that is known without a history") {
  const RunTimes none;
  const RunTimeGuess bounded = none.guess(waiting(600), "cq", {});
  CHECK(bounded.source == RunTimeSource::kMaximum);
  CHECK(*bounded.remaining(0, 0.5) == doctest::Approx(300));
  CHECK(*bounded.remaining(500, 0.5) == doctest::Approx(50));
  CHECK(*bounded.remaining(700, 0.5) == doctest::Approx(1));
  const RunTimes times = after(10, 1000);
  CHECK(*times.guess(waiting(600), "cq", {}).remaining(0, 0.5) == doctest::Approx(600));
  Workload used = waiting(600);
  used.status.accumulated_past_execution_seconds = 500;
  CHECK(*times.guess(used, "cq", {}).remaining(0, 0.5) == doctest::Approx(100));
}

TEST_CASE("run times: without anything nobody knows") {
  const RunTimes none;
  CHECK(none.guess(waiting(), "cq", {}).source == RunTimeSource::kUnknown);
  CHECK_FALSE(none.guess(waiting(), "cq", {}).remaining(0, 0.5));
  CHECK(after(4, 100).guess(waiting(), "cq", {}).source == RunTimeSource::kUnknown);
}

TEST_CASE("run times: another queue's history serves where a queue has none, and is no longer used once it has") {
  RunTimes times;
  for (int i = 0; i < 5; ++i) times.note(run_of(1000, {}, "team-b/lq"));
  CHECK(times.guess(waiting(), "cq", {}).source == RunTimeSource::kOtherHistory);
  CHECK(times.guess(waiting(), "other", {}).source == RunTimeSource::kOtherHistory);
  CHECK(times.guess(waiting(600), "cq", {}).source == RunTimeSource::kMaximum);
  for (int i = 0; i < 5; ++i) times.note(run_of(10));
  const RunTimeGuess own = times.guess(waiting(), "cq", {});
  CHECK(own.source == RunTimeSource::kOwnHistory);
  CHECK(*own.remaining(0, 0.5) == doctest::Approx(10));
  CHECK(times.known_of("team-a/lq") == 5);
}

TEST_CASE("run times: a lying annotation cannot leave what was observed, and is corrected once it was found out") {
  RunTimes times = after(20, 100);
  const auto median = [&](double annotated) { return *times.guess(waiting(), "cq", annotated).remaining(0, 0.5); };
  // Ten years, and nothing at all.
  CHECK(median(3e8) <= 2 * 119);
  CHECK(median(1) >= 100 * 0.5);
  // Each said a hundredth of what it ran for.
  for (int i = 0; i < 10; ++i) times.note(run_of(1000, 10));
  CHECK(median(10) == doctest::Approx(1000));
  // Without any history it counts a day at most.
  const RunTimes none;
  CHECK(*none.guess(waiting(), "cq", 3e8).remaining(0, 0.5) <= 2 * 86'400);
}

TEST_CASE("run times: what is kept has a bound, and one queue's shapes push out no other's") {
  RunTimes times;
  for (int i = 0; i < 10; ++i) times.note(run_of(100, {}, "team-b/lq", 1));
  for (uint64_t shape = 0; shape < 1000; ++shape) times.note(run_of(10, {}, "team-a/lq", shape));
  CHECK(times.known_of("team-a/lq") == Sample::kMost);
  CHECK(times.known_of("team-b/lq") == 10);
  for (size_t queue = 0; queue < RunTimes::kMostQueues; ++queue)
    times.note(run_of(10, {}, "ns/" + std::to_string(queue)));
  CHECK(times.known_of("team-b/lq") == 0);
}

TEST_CASE("run times: a finished Workload has run from its last admission to its end") {
  StartsCluster cluster;
  json finished = cluster.finished("done", 1, 900);
  const auto run = finished_run(*read_workload(finished), {});
  REQUIRE(run);
  CHECK(run->seconds == 600);
  CHECK(run->local_queue == "team-a/lq");
  CHECK(run->cluster_queue == "cq");
  CHECK(run->shape == shape_of(*read_workload(cluster.workload("other", 1, 0))));
  CHECK(run->shape != shape_of(*read_workload(cluster.workload("other", 2, 0))));
  // Never admitted, or not over.
  CHECK_FALSE(finished_run(*read_workload(cluster.running("runs", 1, 900)), {}));
  finished["status"].erase("admission");
  CHECK_FALSE(finished_run(*read_workload(finished), {}));
}

TEST_CASE("run times: an annotation that cannot be read says nothing") {
  CHECK(annotated_seconds({{"simulate.muster.batch/run-time", "90s"}}) == 90);
  CHECK(annotated_seconds({{"simulate.muster.batch/run-time", "0"}}) == 1);
  CHECK_FALSE(annotated_seconds({{"simulate.muster.batch/run-time", "-5"}}));
  CHECK_FALSE(annotated_seconds({{"simulate.muster.batch/run-time", "1e300"}}));
  CHECK_FALSE(annotated_seconds({{"simulate.muster.batch/run-time", "soon"}}));
  CHECK_FALSE(annotated_seconds({}));
}

}  // namespace run_times_test
