#include "test/world/timeline.h"

#include <algorithm>

#include "base/fnv.h"

namespace muster::world {
namespace {

// The parts' names spread one seed.
uint64_t spread(uint64_t seed, std::string_view part) {
  return fnv1a_64(part, kFnv64 ^ (seed * 0x9E3779B97F4A7C15ULL));
}

}  // namespace

Chance::Chance(uint64_t seed, std::string_view part) : engine_(spread(seed, part)) {}

Duration Chance::between(Duration low, Duration high) {
  if (high <= low) return low;
  // A remainder's bias does not matter at these sizes, and unlike the standard's
  // distributions it is the same with every library.
  return low + Duration(static_cast<Duration::rep>(engine_() % static_cast<uint64_t>((high - low).count() + 1)));
}

bool Chance::happens(double probability) {
  if (probability <= 0) return false;
  return static_cast<double>(engine_() >> 11) * 0x1.0p-53 < probability;
}

void Timeline::at(MonotonicTime time, Action action) {
  actions_.emplace(std::pair(std::max(time, time_), ++last_action_), std::move(action));
}

MonotonicTime Timeline::next() const {
  return actions_.empty() ? MonotonicTime::max() : actions_.begin()->first.first;
}

bool Timeline::step() {
  if (actions_.empty()) return false;
  auto first = actions_.extract(actions_.begin());
  time_ = first.key().first;
  first.mapped()();
  return true;
}

void Timeline::move_to(MonotonicTime time) {
  time_ = std::max(time_, std::min(time, next()));
}

}  // namespace muster::world
