#include "base/expiring_set.h"

#include <doctest/doctest.h>

#include <string>

namespace expiring_set_test {

using namespace muster;
using namespace std::chrono_literals;

TEST_CASE("expiring set: a key counts until its time and can be put again or taken away") {
  ExpiringSet<std::string> set(1min);
  const MonotonicTime start(1h);
  CHECK(set.empty());
  set.put("a", start + 30s);
  CHECK(set.holds("a", start + 29s));
  CHECK_FALSE(set.holds("a", start + 30s));
  CHECK_FALSE(set.holds("b", start));
  CHECK(set.until("a") == start + 30s);
  set.put("a", start + 50s);
  CHECK(set.holds("a", start + 49s));
  set.erase("a");
  CHECK_FALSE(set.until("a"));
}

TEST_CASE("expiring set: keys that nobody asks for again do not pile up") {
  ExpiringSet<std::string> set(1min);
  const MonotonicTime start(1h);
  for (int i = 0; i < 10'000; ++i) {
    const MonotonicTime now = start + i * 1s;
    set.put(std::to_string(i), now + 30s);
    REQUIRE(set.holds(std::to_string(i), now));
    if (i >= 20) REQUIRE(set.holds(std::to_string(i - 20), now));
    REQUIRE(set.size() <= 62);
  }
}

}  // namespace expiring_set_test
