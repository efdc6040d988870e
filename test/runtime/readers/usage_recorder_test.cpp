// Samples of what queues use, taken while muster runs.
#include "runtime/readers/usage_recorder.h"

#include <doctest/doctest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

namespace usage_recorder_test {

using namespace muster;
using namespace muster::runtime;

namespace {

explain::QueueListing with_queue() {
  explain::QueueListing listed;
  scheduler::ListedClusterQueue queue;
  queue.object = read_cluster_queue({{"metadata", {{"name", "cq"}}}});
  listed.listing.cluster_queues.push_back(std::move(queue));
  return listed;
}

size_t samples_of(const UsageRecorder& recorder) {
  const auto found = recorder.of_cluster_queue("cq");
  return found && found->ok() ? (*found)->at("times").size() : 0;
}

}  // namespace

TEST_CASE("usage recorder: an engine that has nothing to show is asked again until it has") {
  {
    const UsageRecorder unsynced([] { return std::nullopt; }, system_clock());
    CHECK_FALSE(unsynced.of_cluster_queue("cq").has_value());
  }
  std::atomic<int> asked = 0;
  const UsageRecorder recorder(
      [&]() -> std::optional<explain::QueueListing> {
        return ++asked < 3 ? std::nullopt : std::optional(with_queue());
      },
      system_clock(), {.interval = std::chrono::hours(1), .until_first = std::chrono::milliseconds(1)});
  const MonotonicTime end = system_clock().now().monotonic + std::chrono::seconds(20);
  while (samples_of(recorder) == 0 && system_clock().now().monotonic < end) std::this_thread::yield();
  CHECK(samples_of(recorder) == 1);
  CHECK(asked == 3);
}

TEST_CASE("usage recorder: a sample in each interval, and an end while it waits") {
  const UsageRecorder recorder([] { return std::optional(with_queue()); }, system_clock(),
                               {.interval = std::chrono::milliseconds(1), .until_first = std::chrono::hours(1)});
  const MonotonicTime end = system_clock().now().monotonic + std::chrono::seconds(20);
  while (samples_of(recorder) < 5 && system_clock().now().monotonic < end) std::this_thread::yield();
  CHECK(samples_of(recorder) >= 5);
}

}  // namespace usage_recorder_test
