// Virtual time and chance: what happens when, in a simulated cluster. Nothing here
// waits; an hour passes as fast as its events can be worked off. The same seed gives
// the same run, event by event.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace muster::world {

inline Duration scaled(Duration duration, double by) {
  return Duration(static_cast<int64_t>(static_cast<double>(duration.count()) * by));
}

// A separate source of chance for each part of the world, so that one part's draws do
// not shift another's.
class Chance {
 public:
  Chance(uint64_t seed, std::string_view part);

  uint64_t number() { return engine_(); }
  // Evenly from `low` to `high`, both included.
  Duration between(Duration low, Duration high);
  // True with this probability; draws nothing at 0.
  bool happens(double probability);

 private:
  std::mt19937_64 engine_;
};

class Timeline {
 public:
  using Action = std::function<void()>;

  explicit Timeline(TimePoint start) : wall_offset_(start - TimePoint{}) {}

  // Monotonic time begins at one hour, as on a machine that has been up for a while.
  Now now() const { return {TimePoint{} + wall_offset_ + (time_ - kBegin), time_}; }
  MonotonicTime time() const { return time_; }
  Duration elapsed() const { return time_ - kBegin; }

  // Actions of one instant run in the order in which they were asked for. A time that
  // has passed means now.
  void at(MonotonicTime time, Action action);
  void after(Duration delay, Action action) { at(time_ + delay, std::move(action)); }

  // When the next action is due; MonotonicTime::max() when nothing will ever happen.
  MonotonicTime next() const;
  // Moves to the next action and runs it. False when there is none.
  bool step();
  // Moves to a time before which nothing is due.
  void move_to(MonotonicTime time);

  // What an administrator or NTP does to the wall clock; monotonic time knows nothing of it.
  void jump_wall_clock(Duration by) {
    latest_wall_ = latest_wall();
    wall_offset_ += by;
  }
  // The latest time that the wall clock has ever shown: later than now where it was set back.
  TimePoint latest_wall() const { return std::max(latest_wall_, now().wall); }

 private:
  static constexpr MonotonicTime kBegin{std::chrono::hours(1)};

  MonotonicTime time_ = kBegin;
  Duration wall_offset_;
  TimePoint latest_wall_{};
  uint64_t last_action_ = 0;
  std::map<std::pair<MonotonicTime, uint64_t>, Action> actions_;
};

}  // namespace muster::world
