// A token bucket: at most `burst` requests at once, `per_second` in the long run. Pure.
#pragma once

#include "base/clock.h"

namespace muster::kube {

struct RateLimit {
  double per_second = 0;  // 0: no limit
  double burst = 1;
};

// Not thread-safe: its owner locks.
class Throttle {
 public:
  // The bucket starts full.
  explicit Throttle(RateLimit limit) : limit_(limit), tokens_(limit.burst) {}

  // Takes the next token and says how long to wait until it is there. Callers that wait for this time are served in the
  // order of their calls.
  Duration take(MonotonicTime now);

 private:
  const RateLimit limit_;
  double tokens_;  // negative: promised to waiting callers
  MonotonicTime refilled_{};
};

}  // namespace muster::kube
