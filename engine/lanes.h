// Which keys want to be reconciled, which must wait, and until when. One lane per key:
// while writes for a key are under way the key waits, so that a reconciler sees its
// own writes; after a failure it waits longer each time.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/typed_object.h"
#include "base/clock.h"

namespace muster {

class Lanes {
 public:
  // Wants to be reconciled as soon as it may be.
  void want(const ObjectKey& key);
  // Wants to be reconciled at `time`, if not before; replaces an earlier wish for later.
  void want_at(const ObjectKey& key, MonotonicTime time);
  // Due now and free, first come first served; they are no longer wanted then.
  std::vector<ObjectKey> take_due(MonotonicTime now);

  void write_started(const ObjectKey& key);
  // Wants the key again: what came of the write may ask for more.
  void write_finished(const ObjectKey& key, bool succeeded, MonotonicTime now);

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
    std::optional<MonotonicTime> timer;
    MonotonicTime not_before{};
  };
  void drop_timer(const ObjectKey& key, Lane& lane);

  std::map<ObjectKey, Lane> lanes_;
  std::deque<ObjectKey> queue_;
  std::set<ObjectKey> queued_;
  std::set<std::pair<MonotonicTime, ObjectKey>> timers_;
};

}  // namespace muster
