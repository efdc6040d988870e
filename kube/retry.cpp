#include "kube/retry.h"

#include <cmath>

namespace muster::kube {
namespace {

constexpr double kSpread = 0.1;
constexpr double kFirstReconnectSeconds = 0.1;

Duration seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

}  // namespace

std::optional<Duration> retry_delay(const StatusError& error, bool repeatable, bool sent, const RetryHistory& history,
                                    double random) {
  Duration delay{};
  if (error.code == 429 || error.code == 503) {
    if (!error.retry_after || history.answered >= kMaxTurnedAway) return std::nullopt;
    delay = seconds(std::chrono::duration<double>(*error.retry_after).count() * (1 + kSpread * random));
  } else if (error.unanswered() && error.reason == kUnreachableReason) {
    if ((sent && !repeatable) || history.unanswered >= kMaxUnanswered) return std::nullopt;
    // The first time it is most likely a kept connection that the server had closed.
    if (history.unanswered > 0 || !sent) {
      delay = seconds(std::ldexp(kFirstReconnectSeconds, history.unanswered) * (1 + random));
    }
  } else {
    return std::nullopt;
  }
  if (history.waited + delay > kLongestRetryWait) return std::nullopt;
  return delay;
}

}  // namespace muster::kube
