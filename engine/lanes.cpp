#include "engine/lanes.h"

#include <algorithm>
#include <utility>

#include "state/namespaced_name.h"

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
  return NamespacedNameHash{}({key.ns, key.name}) + key.type->plural.size() * 961;  // kinds are few
}

Lanes::Entry Lanes::entry(const ObjectKey& key) {
  return lanes_.try_emplace(key).first;
}

void Lanes::want(const ObjectKey& key) {
  const Entry its = entry(key);
  if (std::exchange(its->second.outdated, false)) its->second.not_before = {};
  want(its);
}

void Lanes::want(Entry entry) {
  Lane& lane = entry->second;
  if (lane.writes_under_way > 0) {
    lane.wanted_again = true;
  } else if (!std::exchange(lane.queued, true)) {
    queue_.push_back(entry);
  }
}

void Lanes::want_at(const ObjectKey& key, MonotonicTime time) {
  want_at(entry(key), time);
}

void Lanes::want_at(Entry entry, MonotonicTime time) {
  Lane& lane = entry->second;
  if (lane.timer.pending() && lane.timer.time() <= time) return;
  timers_.drop(lane.timer);
  timers_.set(lane.timer, time, entry);
}

std::vector<ObjectKey> Lanes::take_due(MonotonicTime now, size_t most) {
  timers_.take_due(now, [this](Entry entry) { want(entry); });
  std::vector<ObjectKey> due;
  due.reserve(std::min(queue_.size(), most));
  while (!queue_.empty() && due.size() < most) {
    const Entry entry = queue_.front();
    queue_.pop_front();
    Lane& lane = entry->second;
    lane.queued = false;
    if (lane.writes_under_way > 0) {
      lane.wanted_again = true;
    } else if (now < lane.not_before) {
      want_at(entry, lane.not_before);
    } else {
      // The reconciler says anew when it wants to be asked again.
      timers_.drop(lane.timer);
      if (lane.failures > 0)
        due.push_back(entry->first);
      else
        due.push_back(std::move(lanes_.extract(entry).key()));
    }
  }
  return due;
}

void Lanes::write_started(const ObjectKey& key) {
  ++entry(key)->second.writes_under_way;
}

void Lanes::write_finished(const ObjectKey& key, Result result, MonotonicTime now) {
  const Entry its = entry(key);
  Lane& lane = its->second;
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
  Lane& lane = entry(key)->second;
  lane.not_before = std::max(lane.not_before, until);
}

std::optional<MonotonicTime> Lanes::next() const {
  if (!queue_.empty()) return MonotonicTime{};
  return timers_.next();
}

void Lanes::clear() {
  queue_.clear();
  timers_.clear();
  lanes_.clear();
}

}  // namespace muster
