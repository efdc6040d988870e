// Pending timers: set and dropped in constant time, gone off in the order of their times,
// those of one instant in the order in which they were set.
//
// They lie in buckets of a sixteenth of a second, so that among a million of them a timer
// costs a place in a vector, rather than a walk down a tree that is in no cache. Only a
// bucket whose time has come is looked through and sorted: nothing goes off early or late.
//
// One thread. The owners keep their Timer where it does not move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace muster::engine {

// Of one owner; pending between Timers::set() and drop() or take_due().
class Timer {
 public:
  bool pending() const { return pending_; }
  MonotonicTime time() const { return time_; }

 private:
  template <class Owner>
  friend class Timers;
  MonotonicTime time_{};
  uint32_t place_ = 0;  // within its bucket
  bool pending_ = false;
};

// An Owner is a pointer or an iterator.
template <class Owner>
class Timers {
 public:
  // `timer` must not be pending.
  void set(Timer& timer, MonotonicTime time, Owner owner) {
    std::vector<Slot>& bucket = buckets_[bucket_of(time)];
    timer.time_ = time;
    timer.place_ = static_cast<uint32_t>(bucket.size());
    timer.pending_ = true;
    bucket.push_back({time, ++last_order_, &timer, owner});
    if (earliest_ && time < *earliest_) earliest_ = time;
  }

  void drop(Timer& timer) {
    if (!timer.pending_) return;
    const auto bucket = buckets_.find(bucket_of(timer.time_));
    take_out(bucket->second, timer.place_);
    if (bucket->second.empty()) buckets_.erase(bucket);
    if (earliest_ == timer.time_) earliest_.reset();
  }

  // Calls `fire(owner)` for each whose time has come; it can set and drop others.
  template <class Fire>
  void take_due(MonotonicTime now, Fire&& fire) {
    while (!buckets_.empty() && buckets_.begin()->first <= bucket_of(now)) {
      std::vector<Slot> due = due_in(buckets_.begin(), now);
      if (due.empty()) return;
      earliest_.reset();
      for (const Slot& slot : due) fire(slot.owner);
    }
  }

  std::optional<MonotonicTime> next() const {
    if (!earliest_ && !buckets_.empty()) {
      const std::vector<Slot>& first = buckets_.begin()->second;
      earliest_ = std::min_element(first.begin(), first.end())->time;
    }
    return earliest_;
  }

  // Whoever forgets the owners, too.
  void clear() {
    buckets_.clear();
    earliest_.reset();
  }

 private:
  struct Slot {
    MonotonicTime time;
    uint64_t order;
    Timer* timer;
    Owner owner;

    bool operator<(const Slot& other) const { return time != other.time ? time < other.time : order < other.order; }
  };
  using Buckets = std::map<int64_t, std::vector<Slot>>;

  static constexpr Duration kWidth = std::chrono::microseconds(62'500);

  static int64_t bucket_of(MonotonicTime time) {
    const Duration since = time.time_since_epoch();
    return since / kWidth - (since % kWidth < Duration::zero() ? 1 : 0);
  }

  static void take_out(std::vector<Slot>& bucket, uint32_t place) {
    bucket[place].timer->pending_ = false;
    if (place + 1 != bucket.size()) {
      bucket[place] = bucket.back();
      bucket[place].timer->place_ = place;
    }
    bucket.pop_back();
  }

  std::vector<Slot> due_in(typename Buckets::iterator bucket, MonotonicTime now) {
    std::vector<Slot> due;
    std::vector<Slot>& slots = bucket->second;
    if (bucket->first < bucket_of(now)) {
      due = std::move(slots);
      slots.clear();
      for (const Slot& slot : due) slot.timer->pending_ = false;
    } else {
      for (uint32_t place = 0; place < slots.size();) {
        if (now < slots[place].time) {
          ++place;
          continue;
        }
        due.push_back(slots[place]);
        take_out(slots, place);
      }
    }
    if (slots.empty()) buckets_.erase(bucket);
    std::sort(due.begin(), due.end());
    return due;
  }

  Buckets buckets_;
  uint64_t last_order_ = 0;
  mutable std::optional<MonotonicTime> earliest_;  // nullopt: not known
};

}  // namespace muster::engine
