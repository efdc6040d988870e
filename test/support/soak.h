// How much a test does: little in ./check, all of it where test/soak/run sets MUSTER_SOAK.
#pragma once

#include <cstdlib>

namespace muster::test {

inline int soak_size(int small, int full) {
  const char* soak = std::getenv("MUSTER_SOAK");
  return soak && *soak ? full : small;
}

}  // namespace muster::test
