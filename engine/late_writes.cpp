#include "engine/late_writes.h"

#include <algorithm>

namespace muster {

MonotonicTime LateWrites::turn_of(const ObjectKey& key, MonotonicTime now) {
  const auto known = turns_.find(key);
  if (known != turns_.end()) {
    const MonotonicTime turn = known->second;
    if (turn <= now) turns_.erase(known);
    return turn;
  }
  const MonotonicTime turn = std::max(next_, now - kBurst * kBetween);
  next_ = turn + kBetween;
  if (turn > now) turns_.emplace(key, turn);
  return turn;
}

}  // namespace muster
