// Time as an argument. Decisions take a TimePoint; only the edges own a Clock.
#pragma once

#include <chrono>

namespace muster {

using Duration = std::chrono::nanoseconds;
// Wall time, for stamps that are stored in objects.
using TimePoint = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
// Time that never jumps, for deadlines.
using MonotonicTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

// Both readings of one instant (docs: engine time is a pair).
struct Now {
  TimePoint wall;
  MonotonicTime monotonic;
};

// Thread-safe. Tests pass a clock that they move by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Now now() const = 0;
};

// The machine's clocks; the only place of the tree that reads them.
const Clock& system_clock();

}  // namespace muster
