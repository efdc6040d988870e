// The threads around the engine: an inbox that any thread can post to, one thread that owns the engine,
// and an outbox that carries out its writes. What is done with events and writes, and when, is decided by
// engine/loop/, which the simulation drives in virtual time; here is what locks, waits and calls back.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/loop/inbox.h"
#include "engine/loop/loop_core.h"
#include "runtime/outbox.h"

namespace muster::runtime {

// What the loop needs from whoever runs it. Nothing of it is called after EngineLoop::stop().
class LoopHost {
 public:
  virtual ~LoopHost() = default;
  // Sends one write and waits for its answer; see Outbox. Any thread.
  virtual engine::WriteFinished write(const engine::Command& command, MonotonicTime not_after,
                                      std::stop_token stop) = 0;
  // Until when this replica leads; see Outbox. Any thread.
  virtual std::optional<MonotonicTime> leads_until() const = 0;
  // What the watches sent, after the engine has taken it in. On the engine's thread.
  virtual void watched(const engine::Event&) {}
  // What follows from a batch of events, after its view was published and its writes are on their way. On the engine's
  // thread.
  virtual void report(engine::LoopActions&) {}
  // A question broke. On the engine's thread.
  virtual void broke(const engine::Breakage&) {}
};

class EngineLoop {
 public:
  // `clock` and `host` must outlive the loop, and so must settings.watch.
  EngineLoop(engine::EngineSettings settings, size_t connections, const Clock& clock, LoopHost& host);
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  // Ends all threads; writes that are under way are waited for. The host is not called after
  // it, and what is posted has no effect. Not thread-safe; more than once is as once.
  void stop() EXCLUDES(mutex_);

  // Thread-safe; returns at once.
  void post(engine::Event event) EXCLUDES(mutex_);
  // For what a watch tells: waits while Inbox::kMostWaiting events wait to be taken in, so that the
  // watch reads no further, and the API server keeps what muster has no time for.
  void post_when_room(engine::Event event) EXCLUDES(mutex_);
  // `term`: see LeadershipChanged.
  void begin_leadership(uint64_t term) { post(engine::LeadershipChanged{true, term}); }
  // Returns when no write of the leader is under way and none can follow. `until`: see LeadershipChanged.
  void end_leadership(std::optional<MonotonicTime> until = std::nullopt);

  // Lets `question` look at the engine, on the engine's thread between two batches of
  // events, and returns when it has. False: it was not asked, since not every watched kind
  // was listed yet, or the loop ends. Thread-safe, but not for the host. Nothing else happens during the question, so
  // questions must be short.
  bool ask(const engine::LoopCore::Question& question) EXCLUDES(mutex_);

  // What rules can see: null until every watched kind was listed once. Thread-safe.
  ClusterViewPtr view() const EXCLUDES(mutex_);

 private:
  struct Question {
    const engine::LoopCore::Question* ask;  // of the caller, which waits
    bool answered = false;
    bool over = false;
  };

  void run();
  void rest() EXCLUDES(mutex_);
  std::optional<std::deque<engine::Event>> next_events() EXCLUDES(mutex_);
  void take_in(const std::deque<engine::Event>& events);
  void carry_out(engine::LoopActions& actions) EXCLUDES(mutex_);
  void publish(ClusterViewPtr view) EXCLUDES(mutex_);
  void answer_questions() EXCLUDES(mutex_);

  const Clock& clock_;
  LoopHost& host_;
  engine::LoopCore core_;  // of thread_

  mutable Mutex mutex_;
  CondVar inbox_changed_, stopping_changed_, room_changed_;
  engine::Inbox inbox_ GUARDED_BY(mutex_);
  CondVar questions_changed_;
  std::deque<Question*> questions_ GUARDED_BY(mutex_);
  bool ended_ GUARDED_BY(mutex_) = false;  // no question is answered any more
  ClusterViewPtr view_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::unique_ptr<Outbox> outbox_;
  std::thread thread_;
};

}  // namespace muster::runtime
