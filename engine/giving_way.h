// Paces writes that only say why something waits (Write::gives_way). With tens of thousands of
// Workloads in line they would be most of what muster writes, and an API server that is busy has
// better things to do. Few are under way at a time; and while other writes are under way, or the
// answers are slow, each is followed by a pause of nine times as long as it took, so that such
// writes have a tenth of a few connections and no more. In a quiet cluster they go at full speed.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "engine/work_queue.h"

namespace muster::engine {

class GivingWay {
 public:
  static constexpr size_t kAtATime = 8;
  // An answer that takes no longer is that of an API server which has time.
  static constexpr Duration kQuick = std::chrono::milliseconds(20);
  static constexpr int kPause = 9;  // times as long as the write took

  // Whether such a write for this key can start now. If not, the key waits in line until
  // take_turns() names it.
  bool go_or_queue(const ObjectKey& key, MonotonicTime now);
  void started() { ++under_way_; }
  // `took` is the time to the answer; `others` says whether writes of other kinds are under way.
  void finished(Duration took, bool others, MonotonicTime now);
  // Keys that have waited in line and can ask again, first come first served.
  std::vector<ObjectKey> take_turns(MonotonicTime now);
  // When take_turns() has something, if nothing is answered before; nullopt: not by time alone.
  std::optional<MonotonicTime> next() const;
  // Forgets who waits. What is under way is still to be answered.
  void clear();
  size_t under_way() const { return under_way_; }
  // How many keys wait in line.
  size_t waiting() const { return line_.size(); }

 private:
  size_t free(MonotonicTime now);

  size_t under_way_ = 0;
  std::multiset<MonotonicTime> pauses_;  // when each ends
  std::deque<ObjectKey> line_;
  std::unordered_set<ObjectKey, ObjectKeyHash> in_line_;
};

}  // namespace muster::engine
