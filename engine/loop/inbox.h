// The events that wait for the engine, and when the next batch of them is taken in. The threads
// around it are runtime/engine_loop.h; the simulation has virtual time around it.
//
// A batch has a fixed price, however many events it holds. So the loop rests after each, and the
// events of that time are one batch.
//
// Not thread-safe: its owner locks.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "base/clock.h"
#include "engine/events.h"

namespace muster::engine {

class Inbox {
 public:
  // A watch that finds this many events posts no more until the next batch is taken, so that the API
  // server keeps what muster has no time for. Answers to writes and changes of leadership always come in:
  // their number has a bound in the engine (EngineSettings::writes_at_a_time).
  static constexpr size_t kMostWaiting = 2000;
  // Short beside a write, which takes the API server several milliseconds, and no delay for an event that
  // comes after a pause.
  static constexpr Duration kRest = std::chrono::milliseconds(10);

  void post(Event event) { events_.push_back(std::move(event)); }
  bool has_room() const { return events_.size() < kMostWaiting; }
  bool empty() const { return events_.empty(); }

  // The owner has worked off a batch, and the next one is not due before kRest has passed.
  void rest(MonotonicTime now) { rests_until_ = now + kRest; }
  MonotonicTime rests_until() const { return rests_until_; }

  // When take() yields a batch if nothing else is posted; it can be in the past. nullopt: never.
  // `tick`: Engine::next_tick().
  std::optional<MonotonicTime> next_batch(std::optional<MonotonicTime> tick) const;
  // All that waits, in the order of its posting; a Tick where nothing waits and the tick is due. nullopt:
  // no batch is due.
  std::optional<std::deque<Event>> take(std::optional<MonotonicTime> tick, MonotonicTime now);

 private:
  std::deque<Event> events_;
  MonotonicTime rests_until_{};
};

}  // namespace muster::engine
