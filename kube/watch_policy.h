// When a watch goes on, and from where. Pure: what happened in, what to do next out.
//
// Modelled on client-go's reflector: 0.8 s doubling to 30 s, with jitter, so that a
// thousand watches do not return to a restarted API server in one second. Where the server
// names a time (Retry-After), that counts and nothing doubles.
#pragma once

#include <optional>

#include "base/clock.h"

namespace muster::kube {

// How a list or a watch came to its end.
enum class WatchEnd {
  kClosed,     // the server ended it in good order, as it does every few minutes
  kBroken,     // network error, 401, 429 or 5xx: what was seen so far still holds, resume after it
  kExpired,    // 410: the version to resume from has expired, list again
  kUnusable,   // any other refusal, or invalid bytes: list again, but not at once
  kDoubtful,   // 404, and for the first time discovery says too that the kind is not served
  kAbsent,     // the same again: the kind is not served (its CRD is missing)
  kObjected,   // the kind is served, and its check objects to it
  kForbidden,  // 403: a permission must be granted first
};

struct WatchAttempt {
  WatchEnd end = WatchEnd::kClosed;
  bool listing = false;    // it was the list that failed, so what follows is a list
  Duration lasted{};       // from the request to its end
  bool delivered = false;  // at least one event other than bookmarks
  std::optional<Duration> retry_after{};
};

struct WatchNext {
  bool relist = false;
  Duration delay{};
};

// One per watch; not thread-safe.
class WatchPolicy {
 public:
  static constexpr Duration kFirstDelay = std::chrono::milliseconds(800);
  static constexpr Duration kLongestDelay = std::chrono::seconds(30);
  static constexpr Duration kAbsentDelay = std::chrono::seconds(30);
  // Until discovery is asked a second time: longer than a server takes that is just starting to
  // serve its CRDs, one after the other.
  static constexpr Duration kDoubtfulDelay = std::chrono::seconds(2);
  static constexpr Duration kRelistInterval = std::chrono::seconds(1);
  // A watch that ends sooner than this without an event got nowhere.
  static constexpr Duration kShort = std::chrono::seconds(1);
  static constexpr Duration kLongestRetryAfter = std::chrono::minutes(1);

  // Call this at the start of each list: they start at most once per kRelistInterval.
  void list_started(MonotonicTime now) { last_list_ = now; }

  // What to do after `attempt` ended at `now`; `random` is in [0, 1).
  WatchNext after(const WatchAttempt& attempt, MonotonicTime now, double random);

 private:
  Duration backoff(int failures, double random) const;
  Duration delay_after(const WatchAttempt& attempt, double random);

  int failures_ = 0;  // ends in a row that got nowhere
  std::optional<MonotonicTime> last_list_;
};

}  // namespace muster::kube
