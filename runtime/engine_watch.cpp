#include "runtime/engine_watch.h"

#include <condition_variable>
#include <mutex>

namespace muster::runtime {

void EngineWatch::began(std::string_view step, const ObjectKey* key) {
  began_ = clock_.now().monotonic;
  MutexLock lock(mutex_);
  ++number_;
  in_step_ = true;
  step_ = step;
  if (key != nullptr)
    key_ = *key;
  else
    key_.reset();
}

void EngineWatch::ended() {
  const Duration took = clock_.now().monotonic - began_;
  std::string text;
  {
    MutexLock lock(mutex_);
    in_step_ = false;
    if (took < kSlow) return;
    text = text_locked();
  }
  if (slow_) slow_(text, took);
}

std::optional<uint64_t> EngineWatch::present() const {
  MutexLock lock(mutex_);
  return in_step_ ? std::optional(number_) : std::nullopt;
}

std::string EngineWatch::text() const {
  MutexLock lock(mutex_);
  return in_step_ ? text_locked() : "";
}

std::string EngineWatch::text_locked() const {
  return std::string(step_) + (key_ ? " " + to_text(*key_) : "");
}

EngineGuard::EngineGuard(const EngineWatch& watch, const Clock& clock, Callbacks callbacks, Duration limit,
                         Duration between_looks)
    : watch_(watch),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      dog_(limit),
      thread_([this, between_looks](std::stop_token stop) { run(std::move(stop), between_looks); }) {}

void EngineGuard::run(std::stop_token stop, Duration between_looks) {
  std::mutex mutex;
  std::condition_variable_any stopping;
  bool told = false;
  while (!stop.stop_requested()) {
    dog_.look(watch_.present(), clock_.now().monotonic);
    if (dog_.stuck() != told) {
      told = dog_.stuck();
      if (told)
        callbacks_.stuck(watch_.text());
      else
        callbacks_.goes_on();
    }
    std::unique_lock lock(mutex);
    stopping.wait_for(lock, stop, between_looks, [] { return false; });
  }
}

}  // namespace muster::runtime
