#include "engine/lanes.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster {
namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds(50);
constexpr Duration kLongestDelay = std::chrono::seconds(60);

// A watch that works tells of a change sooner.
constexpr Duration kOutdatedFor = std::chrono::seconds(1);

// 50 ms, 100 ms, 200 ms, ... 60 s.
Duration delay_after(int failures) {
  const int doublings = std::min(failures - 1, 11);
  return std::min(kFirstDelay * (1 << doublings), kLongestDelay);
}

}  // namespace

size_t ObjectKeyHash::operator()(const ObjectKey& key) const {
  // Names differ; kinds and namespaces hardly do.
  const std::hash<std::string_view> hash;
  return hash(key.name) + key.ns.size() * 31 + key.type->plural.size() * 961;
}

Lanes::Entry& Lanes::entry(const ObjectKey& key) {
  return *lanes_.try_emplace(key).first;
}

void Lanes::want(const ObjectKey& key) {
  Entry& its = entry(key);
  if (std::exchange(its.second.outdated, false)) its.second.not_before = {};
  want(its);
}

void Lanes::want(Entry& entry) {
  Lane& lane = entry.second;
  if (lane.writes_under_way > 0) {
    lane.wanted_again = true;
  } else if (!std::exchange(lane.queued, true)) {
    queue_.push_back(&entry);
  }
}

void Lanes::want_at(const ObjectKey& key, MonotonicTime time) {
  want_at(entry(key), time);
}

void Lanes::want_at(Entry& entry, MonotonicTime time) {
  Lane& lane = entry.second;
  if (lane.timer && lane.timer->first <= time) return;
  drop_timer(lane);
  lane.timer = Timer(time, ++last_timer_);
  // Most are for later than all others.
  timers_.emplace_hint(timers_.end(), *lane.timer, &entry);
}

void Lanes::drop_timer(Lane& lane) {
  if (!lane.timer) return;
  timers_.erase(*lane.timer);
  lane.timer.reset();
}

std::vector<ObjectKey> Lanes::take_due(MonotonicTime now) {
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    Entry& entry = *timers_.begin()->second;
    timers_.erase(timers_.begin());
    entry.second.timer.reset();
    want(entry);
  }
  std::vector<ObjectKey> due;
  due.reserve(queue_.size());
  for (Entry* entry : std::exchange(queue_, {})) {
    Lane& lane = entry->second;
    lane.queued = false;
    if (lane.writes_under_way > 0) {
      lane.wanted_again = true;
    } else if (now < lane.not_before) {
      want_at(*entry, lane.not_before);
    } else {
      // The reconciler says anew when it wants to be asked again.
      drop_timer(lane);
      if (lane.failures > 0)
        due.push_back(entry->first);
      else
        due.push_back(std::move(lanes_.extract(entry->first).key()));
    }
  }
  return due;
}

void Lanes::write_started(const ObjectKey& key) {
  ++entry(key).second.writes_under_way;
}

void Lanes::write_finished(const ObjectKey& key, Result result, MonotonicTime now) {
  Entry& its = entry(key);
  Lane& lane = its.second;
  --lane.writes_under_way;
  lane.wanted_again = true;
  if (result == Result::kDone) {
    lane.failures = 0;
  } else {
    ++lane.failures;
    lane.outdated = result == Result::kOutdated;
    const Duration delay = delay_after(lane.failures);
    lane.not_before = now + (lane.outdated ? std::max(delay, kOutdatedFor) : delay);
  }
  if (lane.writes_under_way > 0 || !std::exchange(lane.wanted_again, false)) return;
  want(its);
}

void Lanes::rest(const ObjectKey& key, MonotonicTime until) {
  Lane& lane = entry(key).second;
  lane.not_before = std::max(lane.not_before, until);
}

std::optional<MonotonicTime> Lanes::next() const {
  if (!queue_.empty()) return MonotonicTime{};
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

void Lanes::clear() {
  queue_.clear();
  timers_.clear();
  lanes_.clear();
}

}  // namespace muster
