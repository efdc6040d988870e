// The keys that are to be reconciled, as client-go's rate-limited work queue: each key is queued once. While writes for
// a key are under way the key waits, so that a reconciler sees its own writes; after each failure in a row it waits
// longer. Namespaces take turns, so that the keys of one do not wait for all of another's.
//
// These are muster's timers too: one per key, the earliest that was asked for, on the
// monotonic clock. They are not stored: after a restart reconcilers ask for them again,
// from the stamps in the objects. With a million of them pending one costs about a
// microsecond, set and gone off (test/bench/bench_timers.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "engine/timers.h"
#include "kinds/typed_object.h"

namespace muster::engine {

struct ObjectKeyHash {
  size_t operator()(const ObjectKey& key) const;
};

class WorkQueue {
 public:
  // Half empty: with a million keys a look at a full bucket is what a timer costs most.
  WorkQueue() { keys_.max_load_factor(0.5F); }
  // It points into itself.
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  WorkQueue(WorkQueue&&) = default;
  WorkQueue& operator=(WorkQueue&&) = default;

  // Reconciled as soon as it can be: an object that it depends on has changed.
  void enqueue(const ObjectKey& key);
  // Reconciled at `time`, if not before; of two times the earlier one holds.
  void enqueue_at(const ObjectKey& key, MonotonicTime time);
  // What is taken already when the next key of a namespace has its turn.
  struct Taken {
    const std::string& ns;
    size_t in_all, of_namespace;
  };
  using MayTake = std::function<bool(const Taken&)>;
  // The keys that are due and not held; of one namespace in the order in which they were queued. They leave the queue.
  std::vector<ObjectKey> take_ready(MonotonicTime now, const MayTake& may_take = nullptr);

  void write_started(const ObjectKey& key);
  enum class Result {
    kDone,
    kFailed,
    kOutdated,  // the object has changed since, and the watch will show how
  };
  // Queues the key again: the result of the write can need another one. A key whose object is known to be outdated
  // waits for a change, or a second.
  void write_finished(const ObjectKey& key, Result result, MonotonicTime now);

  // The key is not reconciled before this time, even if it is queued.
  void hold_until(const ObjectKey& key, MonotonicTime until);

  // When take_ready() has something, if nothing happens before.
  std::optional<MonotonicTime> next() const;
  // The same, where what is queued cannot be taken.
  std::optional<MonotonicTime> next_timer() const { return timers_.next(); }
  void clear();

 private:
  struct KeyState {
    int writes_under_way = 0;
    int failures = 0;  // in a row
    bool wanted_again = false;
    bool queued = false;
    Timer timer{};
    MonotonicTime not_before{};
    bool outdated = false;  // waits for a change as well
  };

  using Entries = std::unordered_map<ObjectKey, KeyState, ObjectKeyHash>;
  using Entry = Entries::iterator;  // good until it is erased

  struct Line {
    std::deque<Entry> keys;
    size_t taken = 0;  // by the present take_ready()
  };
  using Lines = std::map<std::string, Line, std::less<>>;

  Entry entry(const ObjectKey& key);
  // Takes the first key of a line; nullopt: it is not due.
  std::optional<ObjectKey> take_first(Line& line, MonotonicTime now);
  void enqueue(Entry entry);
  void enqueue_at(Entry entry, MonotonicTime time);

  Entries keys_;
  Lines lines_;                        // by namespace; none is empty
  std::deque<Lines::iterator> turns_;  // each line once
  Timers<Entry> timers_;
};

}  // namespace muster::engine
