// The snapshot that all readers of a second share.
#include "runtime/readers/queue_lists.h"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace queue_lists_test {

using namespace muster;
using namespace muster::runtime;

TEST_CASE("shared snapshot: many readers at once cost one question, and a later one another") {
  std::atomic<int> asked = 0;
  SharedSnapshot shared(
      [&]() -> std::optional<explain::QueueListing> {
        ++asked;
        return explain::QueueListing{};
      },
      system_clock(), {.fresh = std::chrono::milliseconds(500), .kept = std::chrono::minutes(1)});
  CHECK_FALSE(shared.kept());
  std::vector<std::thread> readers;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 16; ++i) readers.emplace_back([&] { answered += shared.get() != nullptr ? 1 : 0; });
  for (std::thread& reader : readers) reader.join();
  CHECK(answered == 16);
  CHECK(asked == 1);
  const auto first = shared.get();
  const MonotonicTime end = system_clock().now().monotonic + std::chrono::seconds(20);
  while (shared.get() == first && system_clock().now().monotonic < end) std::this_thread::yield();
  CHECK(asked == 2);
}

TEST_CASE("shared snapshot: who comes while the next one is made gets the last one, and waits where that is too old") {
  std::atomic<int> asked = 0;
  std::atomic<bool> held = false;
  const auto take = [&]() -> std::optional<explain::QueueListing> {
    ++asked;
    while (held) std::this_thread::yield();
    return explain::QueueListing{};
  };
  for (const bool is_too_old : {false, true}) {
    asked = 0;
    SharedSnapshot shared(take, system_clock(),
                          {.fresh = std::chrono::milliseconds(1),
                           .stale = is_too_old ? std::chrono::milliseconds(1) : Duration(std::chrono::minutes(5)),
                           .kept = std::chrono::minutes(10)});
    const auto first = shared.get();
    held = true;
    // One of them finds it too old and makes the next one, as long as it is held.
    std::thread maker([&] {
      while (asked < 2) shared.get();
    });
    while (asked < 2) std::this_thread::yield();
    if (!is_too_old) {
      CHECK(shared.get() == first);
      held = false;
    } else {
      std::thread release([&] { held = false; });
      CHECK(shared.get() != first);
      release.join();
    }
    maker.join();
    CHECK(shared.get() != nullptr);
  }
}

TEST_CASE("shared snapshot: it is dropped when nobody reads, and made again") {
  SharedSnapshot shared([] { return std::optional(explain::QueueListing{}); }, system_clock(),
                        {.fresh = std::chrono::milliseconds(1), .kept = std::chrono::milliseconds(10)});
  CHECK(shared.get() != nullptr);
  const MonotonicTime end = system_clock().now().monotonic + std::chrono::seconds(20);
  while (shared.kept() && system_clock().now().monotonic < end) std::this_thread::yield();
  CHECK_FALSE(shared.kept());
  CHECK(shared.get() != nullptr);
}

TEST_CASE("shared snapshot: what is not synced is asked again at once") {
  int asked = 0;
  SharedSnapshot shared(
      [&]() -> std::optional<explain::QueueListing> {
        return ++asked < 3 ? std::nullopt : std::optional(explain::QueueListing{});
      },
      system_clock());
  CHECK(shared.get() == nullptr);
  CHECK(shared.get() == nullptr);
  CHECK(shared.get() != nullptr);
}

}  // namespace queue_lists_test
