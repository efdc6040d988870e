// Pauses between writes that come to nothing: creates that the API server refuses, and deletes that another controller
// answers with a new object (excess pods, pods of an outdated template). One object of a user can lead to any number of
// them, and each costs every other user a write.
//
//   a maker      is where such writes come from: one template, one set or one group. After a refusal it pauses for 1 s,
//                then twice as long each time, up to a minute; then one of its creates is tried. The first deletes of a
//                maker are all sent; further ones follow after the same pauses.
//   an object    of a user has several makers. In any minute at most 120 of its writes come to nothing: as many as it
//                has left of them can be under way.
//
// What succeeds is not slowed down: up to 90 creates of one object are under way at a time, which is more than an API
// server carries out at once.
//
// One thread. The engine asks before it sends such a write; a reconciler can ask to save the work of making it. What
// is kept ends a few minutes after the last write that came to nothing.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kinds/typed_object.h"

namespace muster::state {

struct Maker {
  std::string object;  // the uid of the user's object, or what else tells it from all others
  std::string part;    // of what it asks for

  auto operator<=>(const Maker&) const = default;
};

class WritePauses {
 public:
  static constexpr int kMostAtOnce = 90;
  static constexpr Duration kInterval = std::chrono::seconds(2);  // for one write more
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::minutes(1);

  // How long a maker pauses; nullopt: it does not.
  std::optional<Duration> left(const Maker& maker, MonotonicTime now) const;
  // How many of its creates can be sent then: one after a pause.
  size_t room(const Maker& maker, MonotonicTime now) const;

  // All deletes that are asked for until the next call are one round.
  void begin_round() { ++round_; }
  struct Turn {
    bool granted = false;  // a create is under way until answered()
    // Otherwise: when the key is to ask again; nullopt: take_turns() names it.
    std::optional<MonotonicTime> again{};
  };
  Turn ask_to_create(const Maker& maker, const ObjectKey& key, MonotonicTime now);
  Turn ask_to_delete(const Maker& maker, MonotonicTime now);

  enum class Answer { kDone, kRefused, kOther };
  // Of a create.
  void answered(const Maker& maker, Answer answer, MonotonicTime now);

  // Keys that waited for others of their object.
  std::vector<ObjectKey> take_turns(MonotonicTime now);
  // When take_turns() has some, if nothing is answered before.
  std::optional<MonotonicTime> next() const;

  void clear();
  bool empty() const { return pauses_.empty() && objects_.empty(); }

 private:
  struct Pause {
    int times = 0;
    MonotonicTime until{};
    uint64_t round = 0;  // the last of deletes
  };
  struct Object {
    MonotonicTime whole_at{};  // when it can have kMostAtOnce again
    int under_way = 0;
    std::set<ObjectKey> waiting{};

    bool is_idle(MonotonicTime now) const { return under_way == 0 && waiting.empty() && whole_at <= now; }
  };

  int room_of(const std::string& object, MonotonicTime now) const;
  static int room_of(const Object& object, MonotonicTime now);
  // When it has room if nothing is answered before; nullopt: never.
  static std::optional<MonotonicTime> room_at(const Object& object);
  void spend(const std::string& object, MonotonicTime now);
  void pause(Pause& pause, MonotonicTime now);
  void drop_old(MonotonicTime now);

  std::map<Maker, Pause> pauses_;
  std::map<std::string, Object> objects_;
  std::set<std::string> waited_for_;  // objects for which keys wait
  uint64_t round_ = 0;
  MonotonicTime dropped_at_{};
};

}  // namespace muster::state
