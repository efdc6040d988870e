#include "kube/watch_policy.h"

#include <algorithm>
#include <cmath>

namespace muster::kube {

Duration WatchPolicy::backoff(int failures, double random) const {
  if (failures <= 0) return Duration::zero();
  const double doubled = std::ldexp(std::chrono::duration<double>(kFirstDelay).count(), std::min(failures - 1, 10));
  const double jittered = doubled * (1.0 + random);
  return std::min(kLongestDelay, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(jittered)));
}

Duration WatchPolicy::delay_after(const WatchAttempt& attempt, double random) {
  const bool got_somewhere = attempt.delivered || attempt.lasted >= kShort;
  if (got_somewhere) failures_ = 0;
  switch (attempt.end) {
    case WatchEnd::kClosed:
      if (!got_somewhere) return backoff(++failures_, random);
      // Events, but closed within the second: progress, so no growth, and still no spinning.
      return attempt.lasted >= kShort ? Duration::zero() : backoff(1, random);
    case WatchEnd::kExpired:
      // 410 is the ordinary fate of a watch that lagged. Only a server that forgets
      // every version as soon as it has listed it is kept at a distance.
      if (!got_somewhere) ++failures_;
      return backoff(failures_ - 2, random);
    case WatchEnd::kDoubtful:
      failures_ = 0;
      return kDoubtfulDelay;
    case WatchEnd::kAbsent:
    case WatchEnd::kObjected:
      failures_ = 0;
      return kAbsentDelay;
    case WatchEnd::kBroken:
      // A server that sends Retry-After is alive, and its value is better than a growing delay: a server that
      // has just started refuses every watch more than once.
      return backoff(attempt.retry_after ? 1 : ++failures_, random);
    case WatchEnd::kUnusable:
    case WatchEnd::kForbidden:
      return backoff(++failures_, random);
  }
  return kLongestDelay;
}

WatchNext WatchPolicy::after(const WatchAttempt& attempt, MonotonicTime now, double random) {
  WatchNext next;
  next.relist = attempt.end != WatchEnd::kClosed && attempt.end != WatchEnd::kBroken;
  next.delay = delay_after(attempt, random);
  if (attempt.retry_after) next.delay = std::max(next.delay, std::min(*attempt.retry_after, kLongestRetryAfter));
  if (last_list_ && (next.relist || attempt.listing)) {
    next.delay = std::max(next.delay, kRelistInterval - (now - *last_list_));
  }
  return next;
}

}  // namespace muster::kube
