// The loop around the engine: an inbox that any thread may post to, one thread that
// owns the Engine, and one that carries out its writes.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/engine.h"

namespace muster {

class EngineLoop {
 public:
  struct Callbacks {
    // Carries out one command and says whether it succeeded; called on the writer
    // thread, one command at a time. May take as long as the API server does.
    std::function<bool(const PatchObject&)> write;
    // Which CA bundles the webhook configurations hold, whenever that changed; answered
    // by posting CaBundleIssued. On the engine's thread; may be empty.
    std::function<void(std::vector<std::string>)> bundles_seen;
    // Every watched kind was listed: view() has something to show. Once, on the engine's
    // thread; may be empty.
    std::function<void()> synced;
  };

  // `clock` must outlive the loop.
  EngineLoop(EngineSettings settings, const Clock& clock, Callbacks callbacks);
  // Stops both threads; a write that is under way is waited for.
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  // Thread-safe; returns at once.
  void post(Event event) EXCLUDES(mutex_);

  // What rules may see: null until every watched kind was listed once. Thread-safe.
  ClusterViewPtr view() const EXCLUDES(mutex_);

 private:
  void run_engine();
  void run_writer();
  std::deque<Event> next_events() EXCLUDES(mutex_);

  const Clock& clock_;
  const Callbacks callbacks_;
  // Owned by engine_thread_.
  Engine engine_;
  std::vector<std::string> told_bundles_;

  mutable Mutex mutex_;
  CondVar inbox_changed_, outbox_changed_;
  std::deque<Event> inbox_ GUARDED_BY(mutex_);
  std::deque<PatchObject> outbox_ GUARDED_BY(mutex_);
  ClusterViewPtr view_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::thread engine_thread_, writer_thread_;
};

}  // namespace muster
