// Time that passes only when a test says so: a sleeper blocks until then.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include "kube/transport/timing.h"

namespace muster::kube::test {

class ManualTime final : public Clock, public Sleeper {
 public:
  Now now() const override {
    const std::scoped_lock lock(mutex_);
    return now_;
  }
  void sleep(Duration duration, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    const MonotonicTime until = now_.monotonic + duration;
    asleep_until_ = until;
    moved_.wait(lock, stop, [&] { return now_.monotonic >= until; });
    asleep_until_.reset();
  }

  void advance(Duration duration) {
    {
      const std::scoped_lock lock(mutex_);
      now_.wall += duration;
      now_.monotonic += duration;
    }
    moved_.notify_all();
  }
  // For how long the one sleeper will sleep yet; nullopt: it does something.
  std::optional<Duration> asleep_for() const {
    const std::scoped_lock lock(mutex_);
    if (!asleep_until_ || *asleep_until_ <= now_.monotonic) return std::nullopt;
    return *asleep_until_ - now_.monotonic;
  }
  // With a fixed draw instead of chance.
  Timing timing(double draw = 0) {
    return {*this, *this, [draw] { return draw; }};
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any moved_;
  Now now_{TimePoint(std::chrono::seconds(1'790'000'000)), MonotonicTime(std::chrono::hours(1))};
  std::optional<MonotonicTime> asleep_until_;
};

}  // namespace muster::kube::test
