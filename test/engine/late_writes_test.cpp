#include "engine/late_writes.h"

#include <doctest/doctest.h>

#include <string>

using namespace muster;

namespace {

ObjectKey queue(int number) {
  return {&kClusterQueues, "", "cq-" + std::to_string(number)};
}
MonotonicTime at(Duration time) {
  return MonotonicTime(std::chrono::hours(1)) + time;
}

}  // namespace

TEST_CASE("late writes: a burst passes and then each has its turn") {
  LateWrites late;
  int at_once = 0;
  MonotonicTime last{};
  for (int i = 0; i < 200; ++i) {
    const MonotonicTime turn = late.turn_of(queue(i), at({}));
    if (turn <= at({})) ++at_once;
    CHECK(turn > last);
    last = turn;
  }
  CHECK(at_once == LateWrites::kBurst + 1);
  CHECK(last == at((200 - 1 - LateWrites::kBurst) * LateWrites::kBetween));
}

TEST_CASE("late writes: who waits keeps its turn and others do not pass it") {
  LateWrites late;
  for (int i = 0; i <= LateWrites::kBurst; ++i) late.turn_of(queue(i), at({}));
  const MonotonicTime first = late.turn_of(queue(1000), at({}));
  CHECK(first > at({}));
  CHECK(late.turn_of(queue(1000), at({})) == first);
  CHECK(late.turn_of(queue(1001), at({})) > first);
  CHECK(late.turn_of(queue(1000), first) == first);
  // It has written: the next turn is another one.
  CHECK(late.turn_of(queue(1000), first) > first);
}
