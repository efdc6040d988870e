// Eyes on the engine's thread: which step is slow, and whether it is stuck in one. What stuck
// means is engine/watchdog.h; what follows from it is the caller's (runtime/leadership.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/step_watch.h"
#include "engine/watchdog.h"

namespace muster::runtime {

// Takes the time of each step.
class EngineWatch final : public engine::StepWatch {
 public:
  // From here on a step is reported: a step should take 50 ms at most.
  static constexpr Duration kSlow = std::chrono::milliseconds(250);
  // "reconciling jobs/team/train" took so long. On the engine's thread.
  using Slow = std::function<void(const std::string& step, Duration took)>;

  // `clock` must outlive it.
  EngineWatch(const Clock& clock, Slow slow) : clock_(clock), slow_(std::move(slow)) {}

  void began(std::string_view step, const ObjectKey* key) override EXCLUDES(mutex_);
  void ended() override EXCLUDES(mutex_);

  // The number of the step that the engine is in; nullopt: it is between two. Any thread.
  std::optional<uint64_t> present() const EXCLUDES(mutex_);
  // In words; empty: it is between two. Any thread.
  std::string text() const EXCLUDES(mutex_);

 private:
  std::string text_locked() const REQUIRES(mutex_);

  const Clock& clock_;
  const Slow slow_;
  MonotonicTime began_{};  // of the engine's thread

  mutable Mutex mutex_;
  uint64_t number_ GUARDED_BY(mutex_) = 0;
  bool in_step_ GUARDED_BY(mutex_) = false;
  std::string_view step_ GUARDED_BY(mutex_);
  std::optional<ObjectKey> key_ GUARDED_BY(mutex_);
};

// Looks at regular times, on a separate thread, and reports when the engine gets stuck, and when it goes on after
// all.
class EngineGuard {
 public:
  // No step of a cluster that muster is made for comes near it.
  static constexpr Duration kLimit = std::chrono::seconds(20);
  static constexpr Duration kBetweenLooks = std::chrono::seconds(1);

  struct Callbacks {
    std::function<void(const std::string& step)> stuck;
    std::function<void()> goes_on;
  };

  // Starts at once. Both must outlive it.
  EngineGuard(const EngineWatch& watch, const Clock& clock, Callbacks callbacks, Duration limit = kLimit,
              Duration between_looks = kBetweenLooks);

 private:
  void run(std::stop_token stop, Duration between_looks);

  const EngineWatch& watch_;
  const Clock& clock_;
  const Callbacks callbacks_;
  engine::Watchdog dog_;
  std::jthread thread_;  // last, so that it ends before the rest
};

}  // namespace muster::runtime
