#include "engine/key_clocks.h"

namespace muster::engine {

Now KeyClocks::time_for(const ObjectKey& key, Now now) const {
  const auto found = ahead_.find(key);
  if (found == ahead_.end()) return now;
  return {TimePoint(now.monotonic.time_since_epoch() + found->second), now.monotonic};
}

void KeyClocks::note(const ObjectKey& key, bool waits, Now shown) {
  if (*key.type != kWorkloads) return;
  if (waits)
    ahead_.insert_or_assign(key, shown.wall.time_since_epoch() - shown.monotonic.time_since_epoch());
  else
    ahead_.erase(key);
}

}  // namespace muster::engine
