// Time that passes only when a caller sleeps: hours of retries in milliseconds.
#pragma once

#include <vector>

#include "base/mutex.h"
#include "kube/transport/timing.h"

namespace muster::kube::test {

// A sleep moves the clock and returns at once.
class VirtualTime final : public Clock, public Sleeper {
 public:
  Now now() const override EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return now_;
  }
  void sleep(Duration duration, std::stop_token) override EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sleeps_.push_back(duration);
    move(duration);
  }
  void advance(Duration duration) EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    move(duration);
  }
  std::vector<Duration> sleeps() const EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sleeps_;
  }
  Duration slept() const {
    Duration sum{};
    for (const Duration duration : sleeps()) sum += duration;
    return sum;
  }
  // With a fixed draw instead of chance.
  Timing timing(double draw = 0.5) {
    return {*this, *this, [draw] { return draw; }};
  }

 private:
  void move(Duration duration) REQUIRES(mutex_) {
    if (duration <= Duration::zero()) return;
    now_.wall += duration;
    now_.monotonic += duration;
  }

  mutable Mutex mutex_;
  Now now_ GUARDED_BY(mutex_){TimePoint(std::chrono::seconds(1'790'000'000)), MonotonicTime(std::chrono::hours(1))};
  std::vector<Duration> sleeps_ GUARDED_BY(mutex_);
};

}  // namespace muster::kube::test
