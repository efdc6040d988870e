// What time it is for a key. A key that waits for a time lives by the clock that it had
// when it began to wait: the wall clock of that moment, moved on by the monotonic one. So a
// wall clock that is set forward makes nothing late at once, and one that is set back makes
// nothing wait for an hour more. A key that waits for nothing sees the wall clock as it is, and so
// does every key but a Workload's: the deadlines of gangs count from stamps of kubelets, which have their own
// clocks.
//
// Deadlines are counted from stamps in objects, which were written by some wall clock; without
// a key's own one, a jump would count as time that has passed since. After a restart there are
// only the stamps and the wall clock.
#pragma once

#include <unordered_map>

#include "base/clock.h"
#include "engine/work_queue.h"
#include "kinds/typed_object.h"

namespace muster::engine {

class KeyClocks {
 public:
  Now time_for(const ObjectKey& key, Now now) const;
  // It waits, or it waits no more, after a look at it at this time.
  void note(const ObjectKey& key, bool waits, Now shown);
  void clear() { ahead_.clear(); }

 private:
  std::unordered_map<ObjectKey, Duration, ObjectKeyHash> ahead_;  // wall before monotonic
};

}  // namespace muster::engine
