#include "commands/engine_loop.h"

#include <pthread.h>

namespace muster {

EngineLoop::EngineLoop(EngineSettings settings, size_t connections, const Clock& clock, Callbacks callbacks)
    : clock_(clock), callbacks_(std::move(callbacks)), engine_(std::move(settings)) {
  outbox_ =
      std::make_unique<Outbox>(connections, clock_,
                               Outbox::Callbacks{.write = callbacks_.write,
                                                 .finished = [this](WriteFinished answer) { post(std::move(answer)); },
                                                 .leads_until = callbacks_.leads_until});
  thread_ = std::thread([this] { run(); });
}

EngineLoop::~EngineLoop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  inbox_changed_.notify_all();
  thread_.join();
  outbox_.reset();
}

void EngineLoop::post(Event event) {
  {
    MutexLock lock(mutex_);
    inbox_.push_back(std::move(event));
  }
  inbox_changed_.notify_one();
}

// The engine may still hand out commands until it has read the news; the outbox sends
// none of them, as whoever calls this leads no more (leads_until).
void EngineLoop::end_leadership() {
  post(LeadershipChanged{false});
  outbox_->end_leadership();
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

void EngineLoop::run() {
  pthread_setname_np(pthread_self(), "engine");  // for whoever looks at top -H
  for (;;) {
    const std::deque<Event> events = next_events();
    if (events.empty()) return;
    for (const Event& event : events) engine_.apply(event, clock_.now());
    if (callbacks_.bundles_seen) {
      // Only differences are told: the certificates' owner may read its store for each.
      const auto& bundles = engine_.live_bundles();
      if (bundles != told_bundles_) callbacks_.bundles_seen(told_bundles_ = bundles);
    }
    Commands commands = engine_.plan(clock_.now());
    publish();
    for (Command& command : commands.writes) outbox_->post(std::move(command));
    if (!callbacks_.tell) continue;
    for (ObjectEvent& event : commands.events) callbacks_.tell(std::move(event));
  }
}

// One new view per batch, however many events it held.
void EngineLoop::publish() {
  ClusterViewPtr view = engine_.synced() ? engine_.view() : nullptr;
  bool first_view = false;
  {
    MutexLock lock(mutex_);
    first_view = view && !view_;
    view_ = std::move(view);
  }
  if (first_view && callbacks_.synced) callbacks_.synced();
}

}  // namespace muster
