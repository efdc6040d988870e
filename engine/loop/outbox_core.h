// The engine's writes on their way to the API server: which can be sent now, in which order, and what becomes
// of them when this replica leads no longer. The threads and connections around it are runtime/outbox.h; the
// simulation has virtual time and faults around it.
//
// Order: namespaces take turns, over several connections at once, so that no user waits for all writes of another one.
// In a namespace it is first come, first sent; Workloads have a separate turn, since all other admissions wait while
// many admissions are under way. What has no namespace has a turn, too; what needs no leadership comes first. So a
// write never begins before one that was posted earlier for the same object; two for one object can be under way
// together only where the engine planned them for two keys, and then each carries the version that it was planned from.
// Which writes give way to others is decided before (engine/giving_way.h): what is here is sent.
//
// Every command that was posted is answered once (finish()), unless the process ends.
//
// Not thread-safe: its owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/events.h"

namespace muster::engine {

class OutboxCore {
 public:
  explicit OutboxCore(size_t connections) : connections_(connections) {}
  // It points into itself.
  OutboxCore(const OutboxCore&) = delete;
  OutboxCore& operator=(const OutboxCore&) = delete;
  OutboxCore(OutboxCore&&) = default;
  OutboxCore& operator=(OutboxCore&&) = default;

  void post(Command command);

  // The next one, which is under way from now on, until finish(). nullopt: none waits, every connection has
  // one, or stop() was called. What it yields is not sent before can_send_until() was asked.
  std::optional<Command> take();
  // No attempt to send the command begins at this time or later; nullopt: none at all, and the answer is
  // kFailed. `leads_until`: of this replica, as read after take(); nullopt: it does not lead.
  static std::optional<MonotonicTime> can_send_until(const Command& command, std::optional<MonotonicTime> leads_until,
                                                     MonotonicTime now);
  // The answer is there, or the command was not sent. False: it is not under way, so it was answered before
  // and the engine must not hear of it again.
  bool finish(uint64_t id);

  struct Ended {
    // Commands that waited and need leadership. They are gone from here: the owner answers them with kFailed.
    std::vector<uint64_t> dropped;
    // Commands that need leadership and are under way: the owner ends their requests and answers them.
    std::vector<uint64_t> under_way;
  };
  // This replica leads no longer. Both in the order of their ids.
  Ended end_leadership();

  // The process ends: what waits is dropped without an answer, and take() yields nothing any more.
  void stop();
  bool stopped() const { return stopped_; }

  bool is_under_way(uint64_t id) const { return under_way_.contains(id); }
  size_t under_way() const { return under_way_.size(); }
  size_t leader_writes_under_way() const { return leader_writes_under_way_; }
  size_t waiting() const { return waiting_; }

 private:
  // A namespace; true: its Workloads.
  using Lines = std::map<std::pair<std::string, bool>, std::deque<Command>>;

  Command take_next();
  void drop_lines();

  size_t connections_;
  std::deque<Command> first_;           // those that need no leadership
  Lines lines_;                         // the others; none is empty
  std::deque<Lines::iterator> turns_;   // each line once
  size_t waiting_ = 0;                  // in all of these
  std::map<uint64_t, bool> under_way_;  // by Command::id, which grow: whether it needs leadership
  size_t leader_writes_under_way_ = 0;  // of these
  bool stopped_ = false;
};

}  // namespace muster::engine
