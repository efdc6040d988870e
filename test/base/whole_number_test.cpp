#include "base/whole_number.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace whole_number_test {

using muster::finite_number;
using muster::take_number;
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

TEST_CASE("whole number: a number at the start of a text is taken off") {
  std::string_view text = "33+";
  CHECK(take_number<int>(text) == 33);
  CHECK(text == "+");
  CHECK_FALSE(take_number<int>(text));
  CHECK(text == "+");
  text = "99999999999";
  CHECK_FALSE(take_number<int>(text));
}

TEST_CASE("finite number: fractions and exponents, and nothing without an end") {
  CHECK(finite_number("0.5") == 0.5);
  CHECK(finite_number("1e3") == 1000);
  for (const char* text : {"", "inf", "nan", "1e999", "0.5x", " 1"}) CHECK_FALSE(finite_number(text));
}

}  // namespace whole_number_test
