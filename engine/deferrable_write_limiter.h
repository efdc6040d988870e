// A token bucket for writes that can come late (Write::rest): the counts of a thousand queues that all change all the
// time must not crowd out admissions. In the order of arrival: a key that has to wait keeps its time, and idle time is
// made up for by a burst.
#pragma once

#include <map>

#include "base/clock.h"
#include "kinds/typed_object.h"

namespace muster::engine {

class DeferrableWriteLimiter {
 public:
  static constexpr Duration kMinInterval = std::chrono::milliseconds(100);
  static constexpr int kBurst = 100;

  // From when on this key is allowed to write; if that is not after `now`, its turn is used up.
  MonotonicTime ready_at(const ObjectKey& key, MonotonicTime now);
  void clear() { turns_.clear(); }

 private:
  MonotonicTime next_{};
  std::map<ObjectKey, MonotonicTime> turns_;  // of those that wait
};

}  // namespace muster::engine
