// Which Events are worth a request: repetitions become a series, and an object that
// fires too often is silenced. Pure; the thread is kube/events/event_recorder.h.
//
// As client-go does it. tools/events: the same event again within 6 minutes becomes a
// series: at its first repetition, then now and then, and at its end the Event's
// series is patched. tools/record: at most 25 Events about one object, and one more
// every 5 minutes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/meta/object_event.h"
#include "api/meta/time.h"
#include "base/clock.h"

namespace muster::kube {

struct EventOptions {
  std::string controller = "muster";                 // reportingController: a qualified name
  std::string instance{};                            // reportingInstance: which replica; at most 128 bytes
  Duration finish_after = std::chrono::minutes(6);   // a series ends after this silence
  Duration refresh_every = std::chrono::minutes(5);  // between two patches of one series
  double burst = 25;                                 // new Events about one object
  Duration refill_every = std::chrono::minutes(5);   // one more
  size_t max_remembered = 4096;                      // series, and objects with a limit
};

// An Event as it stands on the API server, or should.
struct EventRecord {
  ObjectEvent event{};
  std::string name{};  // of the Event, unique
  Timestamp first{};   // eventTime
  int64_t count = 1;   // a series from 2 on
  Timestamp last{};    // of the series
};

struct EventDecision {
  enum class Kind {
    kCreate,       // write `record` as a new Event
    kPatch,        // write the series of `record`
    kCounted,      // repetition of one that is known; it will be written later
    kRateLimited,  // too many about this object: lost
  };
  Kind kind;
  EventRecord record{};
};

// Not thread-safe.
class EventCorrelator {
 public:
  explicit EventCorrelator(EventOptions options) : options_(std::move(options)) {}

  // One event that happened at `when`. Calls come in the order of time, and due(when)
  // before: it ends the series that this event no longer belongs to.
  EventDecision take(ObjectEvent event, Now when);

  // Series with news that are due to be patched: again after refresh_every, or for the
  // last time, also because there are more of them than max_remembered.
  std::vector<EventRecord> due(MonotonicTime now);
  // When due() has work at the earliest.
  std::optional<MonotonicTime> next_due() const;

 private:
  // Two events are the same if all fields are equal, except regarding's resourceVersion.
  using Event = ObjectEvent;
  using Schedule = std::multimap<MonotonicTime, const Event*>;
  struct Series {
    EventRecord record;
    MonotonicTime last_seen{};
    MonotonicTime patched{};
    bool unwritten = false;  // counted since it was last written
    std::optional<Schedule::iterator> scheduled{};
  };
  struct Bucket {
    double tokens;
    MonotonicTime refilled;
  };

  bool take_token(const ObjectReference& about, MonotonicTime now);
  std::string unique_name(const std::string& regarding, TimePoint now);
  double tokens_at(const Bucket& bucket, MonotonicTime now) const;
  void forget_fullest(MonotonicTime now);
  void schedule(const Event& event, Series& series);

  const EventOptions options_;
  std::map<Event, Series> series_;
  Schedule schedule_;
  std::map<ObjectReference, Bucket> buckets_;
  int64_t last_stamp_ = 0;
};

}  // namespace muster::kube
