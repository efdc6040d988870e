// What the API server said of the pods that jobs have left (Verb::kFindPods), and when it is asked again: while there
// are some after 1 s, then after twice as long each time: up to 8 s while few jobs ask, up to a minute where hundreds
// do, so that all together ask some five times a second. That there are none counts for a minute.
//
// One thread. What is kept ends a few minutes after the last answer.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kinds/typed_object.h"

namespace muster::state {

class PodSearches {
 public:
  struct Found {
    bool any = false;
    Duration next{};  // until it is time to ask again
  };
  // The last answer to this key's search by a label selector; nullopt: there is none yet, or it is time for another
  // one.
  std::optional<Found> found(const ObjectKey& asker, const std::string& selector, MonotonicTime now) const;

  void note(const ObjectKey& asker, const std::string& selector, bool any, MonotonicTime now);
  // A write of this key was carried out: that it had no pods is about the time before, and the job has possibly started
  // since.
  void forget_none(const ObjectKey& asker);

 private:
  struct Answer {
    int times = 0;  // with pods
    bool any = false;
    MonotonicTime until{};
  };
  void sweep(MonotonicTime now);
  Duration longest_pause() const;

  std::map<ObjectKey, std::map<std::string, Answer>> answers_;  // by who asked, and by label selector
  MonotonicTime swept_{};
};

}  // namespace muster::state
