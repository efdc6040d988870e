// Carries out the engine's commands over several connections at once, and answers each of them. Which one can
// be sent is decided by engine/loop/outbox_core.h; here are its threads, one for each connection.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "engine/loop/outbox_core.h"

namespace muster::runtime {

class Outbox {
 public:
  struct Callbacks {
    // Sends one write and waits for its answer, or gives up when asked to stop. An attempt must not start at
    // `not_after` or later. Called on several threads at once.
    std::function<engine::WriteFinished(const engine::Command&, MonotonicTime not_after, std::stop_token)> write;
    // Called for every command that was posted, also of those that were never sent
    // (outcome kFailed).
    std::function<void(engine::WriteFinished)> finished;
    // Until when this replica leads; nullopt: it does not. No command that needs
    // leadership is sent at that time or later. Any thread.
    std::function<std::optional<MonotonicTime>()> leads_until;
  };

  Outbox(size_t connections, const Clock& clock, Callbacks callbacks);
  // Drops what waits, asks what is under way to stop, and waits for that.
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  // Thread-safe; returns at once.
  void post(engine::Command command) EXCLUDES(mutex_);
  // Drops what waits and needs leadership, stops retries of what is under way, and
  // returns when that has ended.
  void end_leadership() EXCLUDES(mutex_);

 private:
  struct Sending {
    engine::Command command;
    std::stop_token stop;
  };

  void run();
  // The next command that can go; waits for one. nullopt: the outbox ends.
  std::optional<Sending> next() EXCLUDES(mutex_);
  engine::WriteFinished carry_out(const Sending& sending) const;

  const Clock& clock_;
  const Callbacks callbacks_;
  Mutex mutex_;
  CondVar changed_, one_done_;
  engine::OutboxCore core_ GUARDED_BY(mutex_);
  std::stop_source leadership_ GUARDED_BY(mutex_);  // of commands that need it, until it ends
  std::stop_source ending_;                         // of commands that need no leadership
  std::vector<std::thread> threads_;
};

}  // namespace muster::runtime
