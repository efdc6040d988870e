#include "base/whole_number.h"

#include <doctest/doctest.h>

#include <cstdint>

using muster::whole_number;

TEST_CASE("whole number: digits with an optional minus that fit, and nothing else") {
  CHECK(whole_number<int32_t>("0") == 0);
  CHECK(whole_number<int32_t>("-12") == -12);
  CHECK(whole_number<int32_t>("2147483647") == 2147483647);
  CHECK(whole_number<uint16_t>("65535") == 65535);
  for (const char* text : {"", " 1", "1 ", "+1", "0x1", "1e3", "1.0", "2147483648", "one"})
    CHECK_FALSE(whole_number<int32_t>(text));
  CHECK_FALSE(whole_number<uint16_t>("65536"));
  CHECK_FALSE(whole_number<uint64_t>("-1"));
}
