// Whether a failed request is sent again, and when. Pure.
#pragma once

#include <optional>

#include "base/clock.h"
#include "kube/status_error.h"

namespace muster::kube {

// What has been tried for one request so far.
struct RetryHistory {
  int answered = 0;    // attempts that the server turned away
  int unanswered = 0;  // attempts that got no answer
  Duration waited{};   // between attempts
};

inline constexpr int kMaxTurnedAway = 10;  // as client-go
inline constexpr int kMaxUnanswered = 3;
inline constexpr Duration kLongestRetryWait = std::chrono::seconds(60);

// The wait before the next attempt; nullopt: hand the error to the caller.
//
// 429 and 503 that carry Retry-After are repeated for every verb: the server has not
// begun the request. A request without an answer is repeated only when `repeatable`
// (doing it twice is doing it once) or when it was never `sent`. The waits of one
// request never add up to more than kLongestRetryWait. `random` in [0, 1) spreads
// callers that were turned away together.
std::optional<Duration> retry_delay(const StatusError& error, bool repeatable, bool sent, const RetryHistory& history,
                                    double random);

}  // namespace muster::kube
