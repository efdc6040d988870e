#include "engine/loop/inbox.h"

#include <algorithm>
#include <utility>

namespace muster::engine {

std::optional<MonotonicTime> Inbox::next_batch(std::optional<MonotonicTime> tick) const {
  if (!events_.empty()) return rests_until_;
  return tick ? std::optional(std::max(*tick, rests_until_)) : std::nullopt;
}

std::optional<std::deque<Event>> Inbox::take(std::optional<MonotonicTime> tick, MonotonicTime now) {
  const auto due = next_batch(tick);
  if (!due || now < *due) return std::nullopt;
  if (events_.empty()) return std::deque<Event>{Tick{}};
  return std::exchange(events_, {});
}

}  // namespace muster::engine
