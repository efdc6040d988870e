#include "engine/work_queue.h"

#include <algorithm>
#include <utility>

#include "state/namespaced_name.h"

namespace muster::engine {
namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds(50);
constexpr Duration kLongestDelay = std::chrono::seconds(60);

// A working watch reports a change earlier.
constexpr Duration kOutdatedFor = std::chrono::seconds(1);

// 50 ms, 100 ms, 200 ms, ... 60 s.
Duration delay_after(int failures) {
  const int doublings = std::min(failures - 1, 11);
  return std::min(kFirstDelay * (1 << doublings), kLongestDelay);
}

}  // namespace

size_t ObjectKeyHash::operator()(const ObjectKey& key) const {
  return state::NamespacedNameHash{}({key.ns, key.name}) +
         (key.type->plural.size() + key.type->selection.size()) * 961;  // kinds are few
}

WorkQueue::Entry WorkQueue::entry(const ObjectKey& key) {
  return keys_.try_emplace(key).first;
}

void WorkQueue::enqueue(const ObjectKey& key) {
  const Entry entry_of_key = entry(key);
  if (std::exchange(entry_of_key->second.outdated, false)) entry_of_key->second.not_before = {};
  enqueue(entry_of_key);
}

void WorkQueue::enqueue(Entry entry) {
  KeyState& state = entry->second;
  if (state.writes_under_way > 0) {
    state.wanted_again = true;
  } else if (!std::exchange(state.queued, true)) {
    const auto [line, is_new] = lines_.try_emplace(entry->first.ns);
    line->second.keys.push_back(entry);
    if (is_new) turns_.push_back(line);
  }
}

void WorkQueue::enqueue_at(const ObjectKey& key, MonotonicTime time) {
  enqueue_at(entry(key), time);
}

void WorkQueue::enqueue_at(Entry entry, MonotonicTime time) {
  KeyState& state = entry->second;
  if (state.timer.pending() && state.timer.time() <= time) return;
  timers_.drop(state.timer);
  timers_.set(state.timer, time, entry);
}

std::optional<ObjectKey> WorkQueue::take_first(Line& line, MonotonicTime now) {
  const Entry entry = line.keys.front();
  line.keys.pop_front();
  KeyState& state = entry->second;
  state.queued = false;
  if (state.writes_under_way > 0) {
    state.wanted_again = true;
    return std::nullopt;
  }
  if (now < state.not_before) {
    enqueue_at(entry, state.not_before);
    return std::nullopt;
  }
  // The reconciler sets a new time for its next call.
  timers_.drop(state.timer);
  if (state.failures > 0) return entry->first;
  return std::move(keys_.extract(entry).key());
}

std::vector<ObjectKey> WorkQueue::take_ready(MonotonicTime now, const MayTake& may_take) {
  timers_.take_due(now, [this](Entry entry) { enqueue(entry); });
  std::vector<ObjectKey> due;
  std::deque<Lines::iterator> waiting;
  while (!turns_.empty()) {
    const Lines::iterator line = turns_.front();
    turns_.pop_front();
    Line& keys = line->second;
    if (may_take && !may_take({line->first, due.size(), keys.taken})) {
      keys.taken = 0;
      waiting.push_back(line);
      continue;
    }
    if (auto key = take_first(keys, now)) {
      due.push_back(*std::move(key));
      ++keys.taken;
    }
    if (keys.keys.empty())
      lines_.erase(line);
    else
      turns_.push_back(line);
  }
  turns_ = std::move(waiting);
  return due;
}

void WorkQueue::write_started(const ObjectKey& key) {
  ++entry(key)->second.writes_under_way;
}

void WorkQueue::write_finished(const ObjectKey& key, Result result, MonotonicTime now) {
  const Entry entry_of_key = entry(key);
  KeyState& state = entry_of_key->second;
  --state.writes_under_way;
  state.wanted_again = true;
  if (result == Result::kDone) {
    state.failures = 0;
  } else {
    ++state.failures;
    state.outdated = result == Result::kOutdated;
    const Duration delay = delay_after(state.failures);
    state.not_before = now + (state.outdated ? std::max(delay, kOutdatedFor) : delay);
  }
  if (state.writes_under_way > 0 || !std::exchange(state.wanted_again, false)) return;
  enqueue(entry_of_key);
}

void WorkQueue::hold_until(const ObjectKey& key, MonotonicTime until) {
  KeyState& state = entry(key)->second;
  state.not_before = std::max(state.not_before, until);
}

std::optional<MonotonicTime> WorkQueue::next() const {
  if (!turns_.empty()) return MonotonicTime{};
  return timers_.next();
}

void WorkQueue::clear() {
  turns_.clear();
  lines_.clear();
  timers_.clear();
  keys_.clear();
}

}  // namespace muster::engine
