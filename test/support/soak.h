// How much a test does: little in ./check, all of it where test/soak/run sets MUSTER_SOAK.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace muster::test {

inline int soak_size(int small, int full) {
  const char* soak = std::getenv("MUSTER_SOAK");
  return soak && *soak ? full : small;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

// With sanitizers (scripts/sanitize) an eighth of the seeds run: they take several times as long, and each shows faults
// of memory as well as the next.
inline uint64_t seeds(uint64_t all) {
  return kSanitized ? std::max<uint64_t>(all / 8, 1) : all;
}

inline uint64_t soak_seeds(int small, int full) {
  return seeds(static_cast<uint64_t>(soak_size(small, full)));
}

}  // namespace muster::test
