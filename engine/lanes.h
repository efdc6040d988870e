// Which keys want to be reconciled, which must wait, and until when. One lane per key:
// while writes for a key are under way the key waits, so that a reconciler sees its
// own writes; after a failure it waits longer each time.
//
// These are muster's timers too: one per key, the earliest that was asked for, on the
// monotonic clock. They are not stored: after a restart reconcilers ask for them anew,
// from the stamps in the objects. With a million of them pending one costs about a
// microsecond, set and gone off (test/bench/bench_timers.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "api/typed_object.h"
#include "base/clock.h"
#include "engine/timers.h"

namespace muster {

struct ObjectKeyHash {
  size_t operator()(const ObjectKey& key) const;
};

class Lanes {
 public:
  // Half empty: with a million keys a look at a full bucket is what a timer costs most.
  Lanes() { lanes_.max_load_factor(0.5F); }
  // It points into itself.
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  Lanes(Lanes&&) = default;
  Lanes& operator=(Lanes&&) = default;

  // Wants to be reconciled as soon as it may be: something that concerns it has changed.
  void want(const ObjectKey& key);
  // Wants to be reconciled at `time`, if not before; replaces an earlier wish for later.
  void want_at(const ObjectKey& key, MonotonicTime time);
  // Due now and free, first come first served, no more than `most`; they are no longer wanted
  // then.
  std::vector<ObjectKey> take_due(MonotonicTime now, size_t most = SIZE_MAX);

  void write_started(const ObjectKey& key);
  enum class Result {
    kDone,
    kFailed,
    kOutdated,  // the object has changed meanwhile, and the watch will tell how
  };
  // Wants the key again: what came of the write may ask for more. What is known to be
  // outdated waits for a change, or a second.
  void write_finished(const ObjectKey& key, Result result, MonotonicTime now);

  // Leaves the key alone until then, whatever it wants.
  void rest(const ObjectKey& key, MonotonicTime until);

  // When take_due() has something, if nothing happens before.
  std::optional<MonotonicTime> next() const;
  void clear();

 private:
  struct Lane {
    int writes_under_way = 0;
    int failures = 0;  // in a row
    bool wanted_again = false;
    bool queued = false;
    Timer timer{};
    MonotonicTime not_before{};
    bool outdated = false;  // waits for a change as well
  };

  using Entries = std::unordered_map<ObjectKey, Lane, ObjectKeyHash>;
  using Entry = Entries::iterator;  // good until it is erased

  Entry entry(const ObjectKey& key);
  void want(Entry entry);
  void want_at(Entry entry, MonotonicTime time);

  Entries lanes_;
  std::deque<Entry> queue_;
  Timers<Entry> timers_;
};

}  // namespace muster
