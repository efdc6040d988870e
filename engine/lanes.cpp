#include "engine/lanes.h"

#include <algorithm>

namespace muster {
namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds(50);
constexpr Duration kLongestDelay = std::chrono::seconds(60);

// 50 ms, 100 ms, 200 ms, ... 60 s.
Duration delay_after(int failures) {
  const int doublings = std::min(failures - 1, 11);
  return std::min(kFirstDelay * (1 << doublings), kLongestDelay);
}

}  // namespace

void Lanes::want(const ObjectKey& key) {
  Lane& lane = lanes_[key];
  if (lane.writes_under_way > 0) {
    lane.wanted_again = true;
    return;
  }
  if (queued_.insert(key).second) queue_.push_back(key);
}

void Lanes::want_at(const ObjectKey& key, MonotonicTime time) {
  Lane& lane = lanes_[key];
  if (lane.timer && *lane.timer <= time) return;
  drop_timer(key, lane);
  lane.timer = time;
  timers_.emplace(time, key);
}

void Lanes::drop_timer(const ObjectKey& key, Lane& lane) {
  if (!lane.timer) return;
  timers_.erase({*lane.timer, key});
  lane.timer.reset();
}

std::vector<ObjectKey> Lanes::take_due(MonotonicTime now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const ObjectKey key = timers_.begin()->second;
    drop_timer(key, lanes_[key]);
    want(key);
  }
  std::vector<ObjectKey> due;
  for (const ObjectKey& key : std::exchange(queue_, {})) {
    queued_.erase(key);
    Lane& lane = lanes_[key];
    if (lane.writes_under_way > 0) {
      lane.wanted_again = true;
    } else if (now < lane.not_before) {
      want_at(key, lane.not_before);
    } else {
      // The reconciler says anew when it wants to be asked again.
      drop_timer(key, lane);
      due.push_back(key);
      if (lane.failures == 0) lanes_.erase(key);
    }
  }
  return due;
}

void Lanes::write_started(const ObjectKey& key) {
  ++lanes_[key].writes_under_way;
}

void Lanes::write_finished(const ObjectKey& key, bool succeeded, MonotonicTime now) {
  Lane& lane = lanes_[key];
  --lane.writes_under_way;
  lane.wanted_again = true;
  if (succeeded) {
    lane.failures = 0;
  } else {
    ++lane.failures;
    lane.not_before = now + delay_after(lane.failures);
  }
  if (lane.writes_under_way > 0 || !std::exchange(lane.wanted_again, false)) return;
  want(key);
}

void Lanes::rest(const ObjectKey& key, MonotonicTime until) {
  Lane& lane = lanes_[key];
  lane.not_before = std::max(lane.not_before, until);
}

std::optional<MonotonicTime> Lanes::next() const {
  if (!queue_.empty()) return MonotonicTime{};
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first;
}

void Lanes::clear() {
  *this = Lanes();
}

}  // namespace muster
