// An assertion of a fuzz target: says what does not hold and stops, so that the
// fuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE_THAT(condition)                                                           \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
