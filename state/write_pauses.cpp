#include "state/write_pauses.h"

#include <algorithm>

namespace muster::state {
namespace {

// What is over for so long counts no more.
constexpr Duration kForgotten = 2 * WritePauses::kLongestPause;

Duration pause_after(int times) {
  const int doublings = std::min(times - 1, 6);
  return std::min(WritePauses::kFirstPause * (1 << doublings), WritePauses::kLongestPause);
}

}  // namespace

int WritePauses::room_of(const Object& object, MonotonicTime now) {
  const Duration debt = std::max(object.whole_at - now, Duration::zero());
  const auto spent = static_cast<int>((debt + kInterval - Duration(1)) / kInterval);
  return std::max(0, kMostAtOnce - spent - object.under_way);
}

std::optional<MonotonicTime> WritePauses::room_at(const Object& object) {
  if (object.under_way >= kMostAtOnce) return std::nullopt;
  return object.whole_at - (kMostAtOnce - object.under_way - 1) * kInterval;
}

int WritePauses::room_of(const std::string& object, MonotonicTime now) const {
  const auto found = objects_.find(object);
  return found == objects_.end() ? kMostAtOnce : room_of(found->second, now);
}

std::optional<Duration> WritePauses::left(const Maker& maker, MonotonicTime now) const {
  const auto pause = pauses_.find(maker);
  if (pause != pauses_.end() && now < pause->second.until) return pause->second.until - now;
  const auto object = objects_.find(maker.object);
  if (object == objects_.end() || room_of(object->second, now) > 0) return std::nullopt;
  return std::max<Duration>(room_at(object->second).value_or(now) - now, kFirstPause);
}

size_t WritePauses::room(const Maker& maker, MonotonicTime now) const {
  if (left(maker, now)) return 0;
  return pauses_.contains(maker) ? 1 : static_cast<size_t>(room_of(maker.object, now));
}

WritePauses::Turn WritePauses::ask_to_create(const Maker& maker, const ObjectKey& key, MonotonicTime now) {
  const auto paused = pauses_.find(maker);
  if (paused != pauses_.end() && now < paused->second.until) return {.again = paused->second.until};
  Object& object = objects_[maker.object];
  if (room_of(object, now) == 0) {
    object.waiting.insert(key);
    waited_for_.insert(maker.object);
    return {};
  }
  // The others wait as if it were refused.
  if (paused != pauses_.end()) pause(paused->second, now);
  ++object.under_way;
  return {.granted = true};
}

WritePauses::Turn WritePauses::ask_to_delete(const Maker& maker, MonotonicTime now) {
  drop_old(now);
  const auto [entry, is_first] = pauses_.try_emplace(maker);
  Pause& paused = entry->second;
  const bool same_round = !is_first && paused.round == round_;
  if (!same_round && now < paused.until) return {.again = paused.until};
  const bool free = is_first || (same_round && paused.times == 1);
  if (!free) {
    Object& object = objects_[maker.object];
    if (room_of(object, now) == 0) return {.again = std::max(room_at(object).value_or(now), now + kFirstPause)};
    spend(maker.object, now);
  }
  if (!same_round) pause(paused, now);
  paused.round = round_;
  return {.granted = true};
}

void WritePauses::answered(const Maker& maker, Answer answer, MonotonicTime now) {
  if (answer == Answer::kRefused) {
    drop_old(now);
    spend(maker.object, now);
    Pause& paused = pauses_[maker];
    // What was sent together is refused together.
    if (paused.until <= now) pause(paused, now);
  } else if (answer == Answer::kDone) {
    pauses_.erase(maker);
  }
  const auto found = objects_.find(maker.object);
  if (found == objects_.end()) return;
  Object& object = found->second;
  object.under_way = std::max(0, object.under_way - 1);
  if (object.is_idle(now)) objects_.erase(found);
}

std::vector<ObjectKey> WritePauses::take_turns(MonotonicTime now) {
  std::vector<ObjectKey> keys;
  for (auto name = waited_for_.begin(); name != waited_for_.end();) {
    Object& object = objects_[*name];
    for (int room = room_of(object, now); room > 0 && !object.waiting.empty(); --room)
      keys.push_back(std::move(object.waiting.extract(object.waiting.begin()).value()));
    name = object.waiting.empty() ? waited_for_.erase(name) : std::next(name);
  }
  return keys;
}

std::optional<MonotonicTime> WritePauses::next() const {
  std::optional<MonotonicTime> next;
  for (const std::string& name : waited_for_) {
    const auto at = room_at(objects_.at(name));
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

void WritePauses::clear() {
  pauses_.clear();
  objects_.clear();
  waited_for_.clear();
}

void WritePauses::spend(const std::string& object, MonotonicTime now) {
  MonotonicTime& whole_at = objects_[object].whole_at;
  whole_at = std::max(whole_at, now) + kInterval;
}

void WritePauses::pause(Pause& pause, MonotonicTime now) {
  pause.until = now + pause_after(++pause.times);
}

// Each look at all of them pays for many writes.
void WritePauses::drop_old(MonotonicTime now) {
  if (now < dropped_at_ + kLongestPause) return;
  dropped_at_ = now;
  std::erase_if(pauses_, [&](const auto& entry) { return entry.second.until + kForgotten < now; });
  std::erase_if(objects_, [&](const auto& entry) { return entry.second.is_idle(now); });
}

}  // namespace muster::state
