// Which fault acts in this process: copies of a few sources ask at the places that faults.cmake names. The product
// is built from the sources themselves, which know nothing of it.
#pragma once

#include <cstdint>

namespace muster::test {

// 0: none.
inline int chosen_fault = 0;
// How often the chosen one was asked for: 0 says that no life comes to its place.
inline uint64_t fault_visits = 0;

// A text in every program that has such copies, whatever is stripped from it (test/hardening).
[[gnu::used]] inline constexpr char fault_mark[] = "muster: deliberate faults can be chosen";

inline bool fault_is(int number) {
  if (chosen_fault != number) return false;
  ++fault_visits;
  return true;
}

}  // namespace muster::test
