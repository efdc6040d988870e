// A clock that tests move by hand.
#pragma once

#include "base/clock.h"

namespace muster::test {

struct HandClock final : Clock {
  Now time{TimePoint(std::chrono::seconds(1'800'000'000)), MonotonicTime(std::chrono::hours(1))};

  Now now() const override { return time; }
  // By the wall clock too.
  void pass(Duration duration) {
    time.wall += duration;
    time.monotonic += duration;
  }
};

}  // namespace muster::test
