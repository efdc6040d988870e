// Whether the engine is stuck: in one step, for longer than any step should take. Pure; whoever
// looks at regular times tells it what was seen (runtime/engine_watch.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace muster::engine {

class Watchdog {
 public:
  // A pause of the whole machine is no fault of the engine's: of the time between two looks no
  // more than this counts.
  static constexpr Duration kMostBetweenLooks = std::chrono::seconds(2);

  explicit Watchdog(Duration limit) : limit_(limit) {}

  // `step`: the number of the step that the engine is in; nullopt: it waits for events.
  void look(std::optional<uint64_t> step, MonotonicTime now);
  bool stuck() const { return in_step_for_ >= limit_; }

 private:
  const Duration limit_;
  std::optional<uint64_t> step_;
  MonotonicTime looked_{};
  Duration in_step_for_{};
};

}  // namespace muster::engine
