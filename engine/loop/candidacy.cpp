#include "engine/loop/candidacy.h"

namespace muster::engine {

bool Candidacy::pause(Pause why) {
  if (!elected_ && why != Pause::kKueue) return false;
  const bool took_part = takes_part();
  pauses_ |= static_cast<uint8_t>(why);
  return took_part;
}

bool Candidacy::resume(Pause why) {
  if (!holds(why)) return false;
  pauses_ &= static_cast<uint8_t>(~static_cast<uint8_t>(why));
  return takes_part();
}

bool Candidacy::set_behind(bool behind, MonotonicTime now) {
  if (behind) {
    if (!behind_since_) behind_since_ = now;
    return false;
  }
  behind_since_.reset();
  return resume(Pause::kBehind);
}

std::optional<MonotonicTime> Candidacy::yields_at() const {
  if (!elected_ || !begun_ || !behind_since_ || holds(Pause::kBehind)) return std::nullopt;
  return *behind_since_ + kLongestBehind;
}

}  // namespace muster::engine
