#include "engine/giving_way.h"

#include <algorithm>

namespace muster::engine {

size_t GivingWay::free(MonotonicTime now) {
  pauses_.erase(pauses_.begin(), pauses_.upper_bound(now));
  return kAtATime - std::min(kAtATime, under_way_ + pauses_.size());
}

bool GivingWay::go_or_queue(const ObjectKey& key, MonotonicTime now) {
  if (free(now) > 0) return true;
  if (in_line_.insert(key).second) line_.push_back(key);
  return false;
}

void GivingWay::finished(Duration took, bool others, MonotonicTime now) {
  --under_way_;
  if (others || took > kQuick) pauses_.insert(now + kPause * took);
}

std::vector<ObjectKey> GivingWay::take_turns(MonotonicTime now) {
  std::vector<ObjectKey> keys;
  for (size_t room = std::min(free(now), line_.size()); room > 0; --room) {
    in_line_.erase(line_.front());
    keys.push_back(std::move(line_.front()));
    line_.pop_front();
  }
  return keys;
}

std::optional<MonotonicTime> GivingWay::next() const {
  if (line_.empty() || pauses_.empty()) return std::nullopt;
  return *pauses_.begin();
}

void GivingWay::clear() {
  line_.clear();
  in_line_.clear();
}

}  // namespace muster::engine
