#include "engine/deferrable_write_limiter.h"

#include <doctest/doctest.h>

#include <string>

namespace deferrable_write_limiter_test {

using namespace muster;
using namespace muster::engine;

namespace {

ObjectKey queue(int number) {
  return {&kClusterQueues, "", "cq-" + std::to_string(number)};
}
MonotonicTime at(Duration time) {
  return MonotonicTime(std::chrono::hours(1)) + time;
}

}  // namespace

TEST_CASE("deferrable writes: a burst passes and then each has its turn") {
  DeferrableWriteLimiter late;
  int at_once = 0;
  MonotonicTime last{};
  for (int i = 0; i < 200; ++i) {
    const MonotonicTime turn = late.ready_at(queue(i), at({}));
    if (turn <= at({})) ++at_once;
    CHECK(turn > last);
    last = turn;
  }
  CHECK(at_once == DeferrableWriteLimiter::kBurst + 1);
  CHECK(last == at((200 - 1 - DeferrableWriteLimiter::kBurst) * DeferrableWriteLimiter::kMinInterval));
}

TEST_CASE("deferrable writes: who waits keeps its turn and others do not pass it") {
  DeferrableWriteLimiter late;
  for (int i = 0; i <= DeferrableWriteLimiter::kBurst; ++i) late.ready_at(queue(i), at({}));
  const MonotonicTime first = late.ready_at(queue(1000), at({}));
  CHECK(first > at({}));
  CHECK(late.ready_at(queue(1000), at({})) == first);
  CHECK(late.ready_at(queue(1001), at({})) > first);
  CHECK(late.ready_at(queue(1000), first) == first);
  // It has written: the next turn is another one.
  CHECK(late.ready_at(queue(1000), first) > first);
}

}  // namespace deferrable_write_limiter_test
