#include "kube/transport/throttle.h"

#include <algorithm>

namespace muster::kube {

Duration Throttle::take(MonotonicTime now) {
  if (limit_.per_second <= 0) return Duration::zero();
  if (now > refilled_) {
    const double passed = std::chrono::duration<double>(now - refilled_).count();
    tokens_ = std::min(limit_.burst, tokens_ + passed * limit_.per_second);
    refilled_ = now;
  }
  tokens_ -= 1;
  if (tokens_ >= 0) return Duration::zero();
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(-tokens_ / limit_.per_second));
}

}  // namespace muster::kube
