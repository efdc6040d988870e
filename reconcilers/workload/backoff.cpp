#include "reconcilers/workload/backoff.h"

#include <algorithm>

#include "base/fnv.h"

namespace muster::reconcilers {
namespace {

using std::chrono::seconds;

// Without a limit: 146 years, the longest delay that can be doubled once more. As in Kueue.
constexpr Duration kLongest{int64_t{1} << 62};

Timestamp round_up(TimePoint time) {
  Timestamp stamp = to_timestamp(time);
  if (stamp.nanoseconds > 0) ++stamp.seconds;
  stamp.nanoseconds = 0;
  return stamp;
}

}  // namespace

Duration backoff_delay(int32_t count, int32_t base_seconds, int32_t max_seconds) {
  const Duration cap = max_seconds > 0 ? Duration(seconds(max_seconds)) : kLongest;
  Duration delay = seconds(std::max(base_seconds, 0));
  for (int32_t doublings = count - 1; doublings > 0 && delay > Duration::zero(); --doublings) {
    if (delay > cap / 2) return cap;
    delay *= 2;
  }
  return delay;
}

double jitter_share(std::string_view uid, int32_t count) {
  uint64_t hash = fnv1a_64(uid);
  for (int shift = 0; shift < 32; shift += 8) {
    const auto byte = static_cast<char>(static_cast<uint32_t>(count) >> shift);
    hash = fnv1a_64({&byte, 1}, hash);
  }
  // FNV leaves the upper bits of short inputs uneven; this is the finalizer of MurmurHash3.
  hash = (hash ^ (hash >> 33)) * 0xff51'afd7'ed55'8ccdU;
  hash = (hash ^ (hash >> 33)) * 0xc4ce'b9fe'1a85'ec53U;
  hash ^= hash >> 33;
  return static_cast<double>(hash >> 11) / static_cast<double>(1ULL << 53);
}

bool set_requeue_at(RequeueState& state, Timestamp wanted, bool increment) {
  bool changed = increment;
  if (state.requeue_at.is_zero() || state.requeue_at < wanted) {
    state.requeue_at = wanted;
    changed = true;
  }
  if (increment) state.count = state.count.value_or(0) + 1;
  return changed;
}

Timestamp backoff_end(int32_t count, const RequeuingStrategy& strategy, std::string_view uid, TimePoint now) {
  const Duration delay = backoff_delay(count, strategy.backoff_base_seconds, strategy.backoff_max_seconds);
  const double stretch = jitter_share(uid, count) * std::max(strategy.backoff_jitter, 0.0);
  Timestamp wanted = round_up(now + delay);
  // Stored times are whole seconds, so the added time is rounded down to whole seconds.
  wanted.seconds += static_cast<int64_t>(std::chrono::duration<double>(delay).count() * stretch);
  return wanted;
}

void count_eviction(RequeueState& state, const RequeuingStrategy& strategy, std::string_view uid, TimePoint now) {
  set_requeue_at(state, backoff_end(state.count.value_or(0) + 1, strategy, uid, now), true);
}

}  // namespace muster::reconcilers
