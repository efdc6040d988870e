#include "engine/deferrable_write_limiter.h"

#include <algorithm>

namespace muster::engine {

MonotonicTime DeferrableWriteLimiter::ready_at(const ObjectKey& key, MonotonicTime now) {
  const auto known = turns_.find(key);
  if (known != turns_.end()) {
    const MonotonicTime turn = known->second;
    if (turn <= now) turns_.erase(known);
    return turn;
  }
  const MonotonicTime turn = std::max(next_, now - kBurst * kMinInterval);
  next_ = turn + kMinInterval;
  if (turn > now) turns_.emplace(key, turn);
  return turn;
}

}  // namespace muster::engine
