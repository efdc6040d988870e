#include "commands/engine_loop.h"

namespace muster {

EngineLoop::EngineLoop(EngineSettings settings, const Clock& clock, Callbacks callbacks)
    : clock_(clock), callbacks_(std::move(callbacks)), engine_(std::move(settings)) {
  engine_thread_ = std::thread([this] { run_engine(); });
  writer_thread_ = std::thread([this] { run_writer(); });
}

EngineLoop::~EngineLoop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  inbox_changed_.notify_all();
  outbox_changed_.notify_all();
  engine_thread_.join();
  writer_thread_.join();
}

void EngineLoop::post(Event event) {
  {
    MutexLock lock(mutex_);
    inbox_.push_back(std::move(event));
  }
  inbox_changed_.notify_one();
}

ClusterViewPtr EngineLoop::view() const {
  MutexLock lock(mutex_);
  return view_;
}

// Waits for events or for the engine's next tick; empty when stopping.
std::deque<Event> EngineLoop::next_events() {
  const auto tick = engine_.next_tick();
  MutexLock lock(mutex_);
  while (inbox_.empty() && !stopping_) {
    if (!tick) {
      inbox_changed_.wait(mutex_);
    } else if (inbox_changed_.wait_until(mutex_, *tick) == std::cv_status::timeout && inbox_.empty()) {
      return {Tick{}};
    }
  }
  if (stopping_) return {};
  return std::move(inbox_);
}

void EngineLoop::run_engine() {
  for (;;) {
    const std::deque<Event> events = next_events();
    if (events.empty()) return;
    for (const Event& event : events) engine_.apply(event, clock_.now());
    if (callbacks_.bundles_seen) {
      // Only differences are told: the certificates' owner may read its store for each.
      auto bundles = engine_.live_bundles();
      if (bundles != told_bundles_) callbacks_.bundles_seen(told_bundles_ = std::move(bundles));
    }
    Commands commands = engine_.plan(clock_.now());

    // One new view per batch, however many events it held.
    ClusterViewPtr view = engine_.synced() ? engine_.view() : nullptr;
    bool first_view = false;
    {
      MutexLock lock(mutex_);
      first_view = view && !view_;
      view_ = std::move(view);
      for (PatchObject& command : commands) outbox_.push_back(std::move(command));
    }
    if (first_view && callbacks_.synced) callbacks_.synced();
    if (!commands.empty()) outbox_changed_.notify_one();
  }
}

void EngineLoop::run_writer() {
  for (;;) {
    PatchObject command;
    {
      MutexLock lock(mutex_);
      while (outbox_.empty() && !stopping_) outbox_changed_.wait(mutex_);
      if (stopping_) return;
      command = std::move(outbox_.front());
      outbox_.pop_front();
    }
    const bool succeeded = callbacks_.write(command);
    post(WriteFinished{command.target, succeeded});
  }
}

}  // namespace muster
